"""Records of questions, as tf.train.Example."""

import tensorflow as tf


def text_example(row):
  """A serialized tf.train.Example of a dict of texts, str or bytes."""
  example = tf.train.Example()
  for name, text in row.items():
    value = text.encode("utf-8") if isinstance(text, str) else text
    example.features.feature[name].bytes_list.value.append(value)
  return example.SerializeToString()
