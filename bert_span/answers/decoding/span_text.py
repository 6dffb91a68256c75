"""Characters of many spans of a few contexts, in TensorFlow ops.

tf.strings.substr(context, start, length, unit="UTF8_CHAR") gives the same
text, but it copies the context for each span and counts characters from its
beginning. A book of a million characters has 100,000 candidates. So contexts
are decoded once, and a span costs only its own length.
"""

import tensorflow as tf


def context_characters(contexts):
  """Code points of each context: ragged int32 [examples, (characters)].

  Args:
    contexts: string [examples], valid UTF-8.
  """
  return tf.strings.unicode_decode(contexts, "UTF-8")


def span_texts(characters, example_index, char_start, char_end):
  """The text context[char_start:char_end] of each span.

  Args:
    characters: ragged int32 [examples, (characters)], of context_characters.
    example_index: int [spans], rows of `characters`.
    char_start: int32 [spans], characters.
    char_end: int32 [spans], characters, exclusive; equal to char_start for "".

  Returns:
    string [spans], UTF-8.
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
