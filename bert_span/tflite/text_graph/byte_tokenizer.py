"""WordPieces with byte offsets, by ops that a TFLite file can hold.

TFLite has no regular expressions and no Unicode: of the ops that
`WordPieceTokenizer` is made of only FastWordpieceTokenizeWithOffsets is left.
What happens to a character there does not depend on its neighbours, a final
capital sigma apart; so it is asked once about all characters, and
FastBertNormalize replaces them by that table.

Two tables, one after the other, keep what is dropped apart: marks, which belong
to the token before them, and control characters, which do not.

    text       É  t  U+0301  U+200B  .        bytes 0 2 3 5 8
    folded     e  t          U+200B  .        É becomes e, the mark is dropped
    cleaned    e  t                  .
    tokens     [---------)           [-)      bytes 0 to 5 and 8 to 9
"""

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.tokenizer import MAX_WORD_CHARACTERS, Tokens, one_row
from bert_span.tflite.text_graph.character_map import normalizer_model

# Custom ops of tensorflow-text that a TFLite file of this tokenizer needs.
CUSTOM_OPS = (
  "FastBertNormalize",
  "FastWordpieceTokenizeWithOffsets",
  "TFText>ByteSplitWithOffsets",
)
_SUFFIX = "##"
# UTF-8: bytes from 0x80 to 0xBF go on with a character, others begin one.
_FIRST_CONTINUATION, _LAST_CONTINUATION = 0x80, 0xBF
# All that may have a case or be a mark: planes 0 to 3 of Unicode without the
# surrogates, and 14. The others are unassigned or for private use.
_CODE_POINTS = np.r_[0:0xD800, 0xE000:0x40000, 0xE0000:0xF0000].astype(np.int32)


class ByteTokenizer:
  """The WordPieces of a `WordPieceTokenizer`, their offsets in bytes.

  The same tokens at the same places, but for a capital sigma at the end of a
  word: there the tokenizer reads the other small sigma. The text must be valid
  UTF-8.

  Args:
    tokenizer: `WordPieceTokenizer`.
  """

  def __init__(self, tokenizer):
    folded, dropped = character_tables(tokenizer)
    self._fold = _normalizer(folded) if folded else None
    self._drop = _normalizer(dropped)
    self._wordpiece = tokenizer.wordpiece
    self._unknown_id = tokenizer.unknown_id
    self._bytes = tf_text.ByteSplitter()
    self._begins_word = tf.constant(
      [not token.startswith(_SUFFIX) for token in tokenizer.vocabulary]
    )

  def __call__(self, text):
    """Tokenizes one text.

    Args:
      text: string [1], UTF-8.

    Returns:
      `Tokens` [1, tokens], whose offsets count bytes.
    """
    folded, fold_offsets = _normalized(self._fold, text)
    cleaned, offsets = _normalized(self._drop, folded)
    ids, starts, ends = (
      part.flat_values
      for part in self._wordpiece.tokenize_with_offsets(cleaned)
    )
    ids, starts, ends = self._unknown_long_words(
      ids, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32), cleaned
    )
    starts = tf.gather(offsets, starts)
    # Where its last byte stands; a byte that is not replaced stays one byte.
    ends = tf.gather(offsets, ends - 1) + 1
    if fold_offsets is not None:
      starts = tf.gather(fold_offsets, starts)
      ends = tf.gather(_next_offsets(fold_offsets), ends - 1)
    return Tokens(*(one_row(part) for part in (ids, starts, ends)))

  def bytes_of(self, text):
    """The bytes of one text.

    Args:
      text: string [1].

    Returns:
      int32 [bytes].
    """
    return tf.cast(self._bytes.split(text).flat_values, tf.int32)

  def _unknown_long_words(self, ids, starts, ends, text):
    """Makes one [UNK] of every word of over 200 characters.

    Args:
      ids, starts, ends: int32 [tokens], offsets in bytes of `text`.
      text: string [1].

    Returns:
      The same, of fewer tokens.
    """
    values = self.bytes_of(text)
    begins = (values < _FIRST_CONTINUATION) | (values > _LAST_CONTINUATION)
    # [bytes + 1], characters before each byte
    before = tf.concat([[0], tf.cumsum(tf.cast(begins, tf.int32))], 0)
    is_first = tf.gather(self._begins_word, ids)
    word = tf.cumsum(tf.cast(is_first, tf.int32)) - 1  # [tokens]
    first = _indices(is_first)  # [words], tokens
    last = tf.concat([first[1:], tf.shape(ids)], 0)[: tf.size(first)] - 1
    word_ends = tf.gather(ends, last)
    lengths = tf.gather(before, word_ends) - tf.gather(
      before, tf.gather(starts, first)
    )
    is_long = tf.gather(lengths > MAX_WORD_CHARACTERS, word)
    ids = tf.where(is_long, self._unknown_id, ids)
    ends = tf.where(is_long, tf.gather(word_ends, word), ends)
    kept = _indices(is_first | ~is_long)
    return tuple(tf.gather(part, kept) for part in (ids, starts, ends))


def character_tables(tokenizer):
  """What a tokenizer does to single characters.

  Args:
    tokenizer: `WordPieceTokenizer`.

  Returns:
    Two dicts of character to text: of those that are replaced, by "" if they
    are marks, and of those that are dropped.
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


def _normalizer(replacements):
  return tf_text.FastBertNormalizer(model_buffer=normalizer_model(replacements))


def _normalized(normalizer, text):
  """A text after a normalizer, and where each byte of it comes from.

  Returns:
    string [1], and int32 [bytes + 1], offsets into `text`; None for a
    normalizer that is None.
  """
  if normalizer is None:
    return text, None
  normalized, offsets = normalizer.normalize_with_offsets(text)
  return normalized, tf.cast(offsets.flat_values, tf.int32)


def _next_offsets(offsets):
  """For each byte the first offset that is greater than its own.

  All bytes of a replacement have the offset of the character they replace:

      offsets   0 2 2 5 7      of 4 bytes, and of the end
      next      2 5 5 7

  Args:
    offsets: int32 [bytes + 1], ascending, the last one without an equal.

  Returns:
    int32 [bytes].
  """
  is_new = tf.not_equal(offsets[1:], offsets[:-1])  # [bytes]
  distinct = tf.gather(offsets[1:], _indices(is_new))
  index = tf.cumsum(tf.cast(is_new, tf.int32), exclusive=True)
  return tf.gather(distinct, index)


def _indices(condition):
  """int32 [n], where a bool [..] of one axis is True."""
  return tf.cast(tf.where(condition)[:, 0], tf.int32)
