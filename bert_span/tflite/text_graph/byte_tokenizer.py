"""WordPieces with byte offsets, by ops that TFLite has.

TFLite has no regular expressions and no Unicode: of the ops of
`WordPieceTokenizer` only FastWordpieceTokenizeWithOffsets remains. That layer
normalizes a character independently of its neighbours, except a final capital
sigma. So it normalizes every character once, here, and in the file
FastBertNormalize replaces characters by this table.

There are two tables, because a dropped mark belongs to the token before it and
a dropped control character does not.

    text       É  t  U+0301  U+200B  .        bytes 0 2 3 5 8
    folded     e  t          U+200B  .        É becomes e, the mark is dropped
    cleaned    e  t                  .
    tokens     [---------)           [-)      bytes 0 to 5 and 8 to 9
"""

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.tokenizer import Tokens, one_row
from bert_span.tflite.text_graph.character_map import normalizer_model

# Custom ops of tensorflow-text that a TFLite file needs for this tokenizer.
CUSTOM_OPS = (
  "FastBertNormalize",
  "FastWordpieceTokenizeWithOffsets",
  "TFText>ByteSplitWithOffsets",
)
# UTF-8: bytes from 0x80 to 0xBF continue a character, others begin one.
_FIRST_CONTINUATION, _LAST_CONTINUATION = 0x80, 0xBF
# Planes 0 to 3 of Unicode, without surrogates, and 14. The other planes are
# unassigned or for private use.
_CODE_POINTS = np.r_[0:0xD800, 0xE000:0x40000, 0xE0000:0xF0000].astype(np.int32)


class ByteTokenizer:
  """A `WordPieceTokenizer` with offsets in bytes, for valid UTF-8.

  Tokens are the same, except at a capital sigma at the end of a word, which
  `WordPieceTokenizer` lower-cases to the other small sigma.

  Args:
    tokenizer: `WordPieceTokenizer`.
  """

  def __init__(self, tokenizer):
    self._fold, self._drop = (
      tf_text.FastBertNormalizer(model_buffer=normalizer_model(table))
      for table in character_tables(tokenizer)
    )
    self._tokenizer = tokenizer
    self._bytes = tf_text.ByteSplitter()

  def __call__(self, text):
    """Returns the `Tokens` of one text, string [1], with offsets in bytes."""
    folded, fold_offsets = _normalized(self._fold, text)
    cleaned, offsets = _normalized(self._drop, folded)
    ids, starts, ends = (
      part.flat_values
      for part in self._tokenizer.wordpiece.tokenize_with_offsets(cleaned)
    )
    values = self.bytes_of(cleaned)
    begins = (values < _FIRST_CONTINUATION) | (values > _LAST_CONTINUATION)
    _, ids, starts, ends = self._tokenizer.unknown_long_words(
      ids,
      tf.cast(starts, tf.int32),
      tf.cast(ends, tf.int32),
      tf.cast(begins, tf.int32),
    )
    starts = tf.gather(fold_offsets, tf.gather(offsets, starts))
    # The last byte: bytes are dropped or kept in `cleaned`, not replaced.
    last = tf.gather(offsets, ends - 1)
    ends = tf.gather(_next_offsets(fold_offsets), last)
    return Tokens(*(one_row(part) for part in (ids, starts, ends)))

  def bytes_of(self, text):
    """Returns the bytes of one text, string [1], as int32 [bytes]."""
    return tf.cast(self._bytes.split(text).flat_values, tf.int32)


def character_tables(tokenizer):
  """Returns how a `WordPieceTokenizer` normalizes characters.

  Returns:
    Two dicts of character to text: characters that are replaced, marks by "",
    and other characters that are dropped.
  """
  texts = tf.strings.unicode_encode(_CODE_POINTS[:, np.newaxis], "UTF-8")
  found = tokenizer.normalized_characters(texts)
  rows = tf.ragged.row_splits_to_segment_ids(found.row_splits)
  changed = tf.where(tf.not_equal(found.normalized, tf.gather(texts, rows)))
  folded, dropped = {}, {}
  for row, normalized, is_mark in zip(
    *(
      tf.gather_nd(values, changed).numpy().tolist()
      for values in (rows, found.normalized, found.is_mark)
    ),
    strict=True,
  ):
    is_dropped = not normalized and not is_mark
    table = dropped if is_dropped else folded
    table[chr(_CODE_POINTS[row])] = normalized.decode("utf-8")
  return folded, dropped


def _normalized(normalizer, text):
  """Normalizes a text; returns it and int32 [bytes + 1], their origins."""
  normalized, offsets = normalizer.normalize_with_offsets(text)
  return normalized, tf.cast(offsets.flat_values, tf.int32)


def _next_offsets(offsets):
  """Returns for each byte the next greater offset, int32 [bytes].

  All bytes of a replacement have the offset of the character they replace:

      offsets   0 2 2 5 7      of 4 bytes, and of the end
      next      2 5 5 7
  """
  is_new = tf.not_equal(offsets[1:], offsets[:-1])  # [bytes]
  distinct = tf.boolean_mask(offsets[1:], is_new)
  index = tf.cumsum(tf.cast(is_new, tf.int32), exclusive=True)
  return tf.gather(distinct, index)
