"""Offsets in characters to offsets in bytes, for clients that cut bytes."""

import tensorflow as tf


def byte_offsets(texts, char_offsets):
  r"""Turns offsets counted in characters into offsets counted in bytes.

  The bytes are those that came in, also where they are not UTF-8: whatever
  decodes as one U+FFFD is one character, with as many bytes as it took.

      text            h  é      l  \xff  o
      characters      0  1      2  3     4  5
      bytes           0  1      3  4     5  6

  Args:
    texts: string [batch].
    char_offsets: int32 [batch, n], each from 0 to the characters of its text.

  Returns:
    int32 [batch, n].
  """
  _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8")
  ends = tf.strings.length(texts)[:, tf.newaxis]  # [batch, 1], bytes
  # ragged int64 [batch, characters + 1]
  offsets = tf.concat([starts, tf.cast(ends, tf.int64)], axis=1)
  at = offsets.row_starts()[:, tf.newaxis] + tf.cast(char_offsets, tf.int64)
  return tf.cast(tf.gather(offsets.flat_values, at), tf.int32)
