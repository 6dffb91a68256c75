"""Characters of many spans of a few contexts, in TensorFlow ops.

tf.strings.substr(context, start, length, unit="UTF8_CHAR") gives the same
text, but copies the context for each span and counts characters from its
beginning. A book of a million characters has 100,000 candidates. So contexts
are decoded once, and a span costs only its own length.
"""

import tensorflow as tf


def context_characters(contexts):
  """Code points of valid UTF-8: ragged int32 [examples, (characters)]."""
  return tf.strings.unicode_decode(contexts, "UTF-8")


def span_texts(characters, example_index, char_start, char_end):
  """The text context[char_start:char_end] of each span: string [spans].

  Args:
    characters: `context_characters`.
    example_index: int [spans], rows of `characters`.
    char_start, char_end: int32 [spans], characters, half-open.
  """
  row_start = tf.gather(characters.row_starts(), example_index)  # [spans]
  positions = tf.ragged.range(
    row_start + tf.cast(char_start, tf.int64),
    row_start + tf.cast(char_end, tf.int64),
  )  # [spans, (characters)]
  return tf.strings.unicode_encode(
    positions.with_flat_values(
      tf.gather(characters.flat_values, positions.flat_values)
    ),
    "UTF-8",
  )


def text_ids(characters, example_index, char_start, char_end):
  """Numbers the distinct texts of each example.

  Args: those of `span_texts`.

  Returns:
    (ids, count): int32 [spans], 0, 1, .. in the order in which texts first
    occur; and the number of ids.
  """
  texts = span_texts(characters, example_index, char_start, char_end)
  # Digits and a blank before the text keep the examples apart.
  keys = tf.strings.join([tf.strings.as_string(example_index), texts], " ")
  distinct, ids = tf.unique(keys)
  return ids, tf.size(distinct)
