"""The last layers of a head that predicts tokens."""

import keras
from keras import ops

_INITIALIZER_RANGE = 0.02
# As the encoder.
_EPSILON = 1e-12


@keras.saving.register_keras_serializable(package="bert_span")
class PredictionTransform(keras.layers.Layer):
  """LayerNorm(GELU(W x + b)), in float32 under mixed precision too.

  Args:
    hidden_dim: width of the result.
    **kwargs: passed to keras.layers.Layer.

  Call arguments:
    vectors: float [..., any width].

  Returns:
    float32 [..., hidden_dim].

  Source: google-research/bert, run_pretraining.py, get_masked_lm_output.
  """

  def __init__(self, hidden_dim, **kwargs):
    super().__init__(**{**kwargs, "dtype": "float32"})
    self.dense = keras.layers.Dense(
      hidden_dim,
      kernel_initializer=truncated_normal(),
      dtype="float32",
      name="dense",
    )
    self.layer_norm = keras.layers.LayerNormalization(
      epsilon=_EPSILON, dtype="float32", name="layer_norm"
    )

  def build(self, input_shape):
    self.dense.build(input_shape)
    self.layer_norm.build((*input_shape[:-1], self.dense.units))

  def call(self, vectors):
    # GELU in the tanh form, as in the encoder.
    return self.layer_norm(ops.gelu(self.dense(vectors), approximate=True))


@keras.saving.register_keras_serializable(package="bert_span")
class TiedOutput(keras.layers.Layer):
  """Scores every token by the encoder's own word embeddings, plus a bias.

  Args:
    vocabulary_size: WordPieces in the vocabulary.
    **kwargs: passed to keras.layers.Layer.

  Call arguments:
    vectors: float [batch, targets, hidden].
    embeddings: float [vocab, hidden], the encoder's word embeddings.

  Returns:
    float32 [batch, targets, vocab], unnormalized.
  """

  def __init__(self, vocabulary_size, **kwargs):
    super().__init__(**{**kwargs, "dtype": "float32"})
    self.vocabulary_size = vocabulary_size
    self.bias = None

  def build(self, *unused_shapes):
    self.bias = self.add_weight(
      name="bias", shape=(self.vocabulary_size,), initializer="zeros"
    )

  def call(self, vectors, embeddings):
    embeddings = ops.cast(embeddings, "float32")
    return ops.matmul(vectors, ops.transpose(embeddings)) + self.bias


def truncated_normal():
  """The initializer of a head's matrices, with a seed of its own."""
  return keras.initializers.TruncatedNormal(stddev=_INITIALIZER_RANGE)


def gather_vectors(sequence_output, positions):
  """Takes the encoder's vectors at some positions of each sequence.

  Args:
    sequence_output: float [batch, seq_length, hidden].
    positions: int [batch, targets].

  Returns:
    float [batch, targets, hidden].
  """
  return ops.take_along_axis(sequence_output, positions[..., None], axis=1)
