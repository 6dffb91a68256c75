"""The initial weights of encoders and heads."""

import keras


def bert_initializer():
  """Returns the initializer of all kernels and embeddings.

  It is new at each call: the same object would draw the same values again.

  Source: google-research/bert, modeling.py, initializer_range.
  """
  return keras.initializers.TruncatedNormal(stddev=0.02)
