"""WordPiece tokens with character offsets, exactly the original tokenizer's.

tensorflow-text's own BERT tokenizers fold characters by NFKC or report offsets
into the normalized text; the original folds by NFD, and answers need offsets
into the text as it was given. So characters are normalized here, one by one,
and only the WordPiece algorithm itself is tensorflow-text's.
"""

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.vocabulary import (
  CLS_TOKEN,
  SEP_TOKEN,
  UNKNOWN_TOKEN,
  check_vocabulary,
)

# As run_squad: WordpieceTokenizer.max_input_chars_per_word.
MAX_WORD_CHARACTERS = 200
# Beyond it tensorflow-text itself answers [UNK]; a word of 200 characters has
# at most 800 bytes.
_MAX_WORD_BYTES = 4 * MAX_WORD_CHARACTERS

# As run_squad: U+0000, U+FFFD and the categories Cc and Cf vanish, apart from
# tab, newline and carriage return.
_DROPPED = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}\x{fffd}\p{Cf}]"
_SPACE = r"[\t\n\r\p{Z}]"
_PUNCTUATION = r"[!-/:-@\[-`{-~\p{P}]"
_CJK = (
  r"[\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{20000}-\x{2a6df}\x{2a700}-\x{2b73f}"
  r"\x{2b740}-\x{2b81f}\x{2b820}-\x{2ceaf}\x{f900}-\x{faff}"
  r"\x{2f800}-\x{2fa1f}]"
)
# A text that normalizes to one of these is a token of its own, never a part
# of a longer word.
_WORD_BREAK = f"{_SPACE}|{_PUNCTUATION}|{_CJK}"


class Tokens(NamedTuple):
  """WordPieces of a batch of texts, and where they stand.

  Attributes:
    ids: int32 ragged [batch, tokens], vocabulary ids.
    char_starts: int32 ragged [batch, tokens], offset of a token's first
      character in its text.
    char_ends: int32 ragged [batch, tokens], offset behind its last character.
  """

  ids: tf.RaggedTensor
  char_starts: tf.RaggedTensor
  char_ends: tf.RaggedTensor

  def gather(self, indices):
    """The tokens of the texts at `indices`, int32 [n]."""
    return Tokens(*(tf.gather(part, indices) for part in self))


class Characters(NamedTuple):
  """The characters of all texts, one after the other.

  Attributes:
    row_splits: int64 [batch + 1], where each text begins.
    normalized: string [characters], what the tokenizer sees of each; "" where
      it is dropped.
    is_mark: bool [characters], a combining mark that is dropped.
  """

  row_splits: tf.Tensor
  normalized: tf.Tensor
  is_mark: tf.Tensor


@keras.saving.register_keras_serializable(package="bert_span")
class WordPieceTokenizer(keras.layers.Layer):
  """Splits texts into WordPieces with offsets, as run_squad's FullTokenizer.

  A Keras preprocessing layer made of TensorFlow ops only, so it runs alone, in
  tf.data and inside an exported graph. Invalid UTF-8 counts as U+FFFD.

  Example:

  ```python
  tokenizer = WordPieceTokenizer(load_vocabulary("vocab.txt"))
  tokens = tokenizer(tf.constant(["Étienne (1895-1943)."]))
  # tokens "etienne ( 1895 - 1943 ) ." as ids, and
  # tokens.char_starts  [[0, 8, 9, 13, 14, 18, 19]]
  # tokens.char_ends    [[7, 9, 13, 14, 18, 19, 20]]
  ```

  Args:
    vocabulary: list of tokens, the index is the id.
    do_lower_case: lower-case and strip accents (uncased models).

  Attributes:
    vocabulary, do_lower_case: the arguments.
    cls_id, sep_id, unknown_id: ids of [CLS], [SEP] and [UNK].
    wordpiece: `FastWordpieceTokenizer`, what cuts normalized words.

  Source: google-research/bert, tokenization.py (BasicTokenizer and
  WordpieceTokenizer).
  """

  def __init__(self, vocabulary, do_lower_case=True, **kwargs):
    super().__init__(**kwargs)
    self.built = True  # nothing to build
    check_vocabulary(vocabulary)
    vocabulary = list(vocabulary)
    # An array: Keras would look for layers among the tokens of a list.
    self._vocabulary = np.array(vocabulary, object)
    self.do_lower_case = do_lower_case
    self.cls_id = vocabulary.index(CLS_TOKEN)
    self.sep_id = vocabulary.index(SEP_TOKEN)
    self.unknown_id = vocabulary.index(UNKNOWN_TOKEN)
    self.wordpiece = _fast_wordpiece(vocabulary)

  @property
  def vocabulary(self):
    """The list of tokens."""
    return self._vocabulary.tolist()

  def __call__(self, texts):
    # Keras takes tensors and arrays, and no lists of Python strings.
    if isinstance(texts, list):
      texts = tf.constant(texts, tf.string)
    return super().__call__(texts)

  def call(self, texts):
    """Tokenizes a batch of texts.

    Args:
      texts: string [batch], UTF-8.

    Returns:
      `Tokens`.
    """
    characters = self.normalized_characters(texts)
    joined = tf.strings.reduce_join(
      tf.RaggedTensor.from_row_splits(
        characters.normalized, characters.row_splits, validate=False
      ),
      axis=-1,
    )
    ids, byte_starts, byte_ends = self.wordpiece.tokenize_with_offsets(joined)
    starts, ends = _bytes_to_characters(byte_starts, byte_ends, characters)
    return self._unknown_long_words(ids, starts, ends, characters)

  def normalized_characters(self, texts):
    """Every character of every text, and what the tokenizer sees of it.

    The string ops run once per distinct character of the batch, some hundred,
    and not once per character.

    Args:
      texts: string [batch], UTF-8.

    Returns:
      `Characters`.
    """
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
    if self.do_lower_case:
      # In one go over the text, because a final sigma depends on its
      # neighbours. U+0130 is the one character that would become two, i and
      # a combining dot, which is dropped anyway.
      # tf.strings.lower ends a text at U+0000; U+FFFD is dropped alike.
      texts = tf.strings.regex_replace(texts, "İ", "i")
      texts = tf.strings.regex_replace(texts, r"\x00", "\ufffd")
      texts = tf.strings.lower(texts, encoding="utf-8")
    code_points = tf.strings.unicode_decode(texts, "UTF-8")
    distinct, index = tf.unique(code_points.values)
    distinct = tf.strings.unicode_encode(distinct[:, tf.newaxis], "UTF-8")
    kept = tf.strings.regex_replace(distinct, _DROPPED, "")
    normalized = kept
    if self.do_lower_case:
      decomposed = tf_text.normalize_utf8(kept, "NFD")
      normalized = tf.strings.regex_replace(decomposed, r"\p{Mn}", "")
    is_mark = tf.not_equal(kept, "") & tf.equal(normalized, "")
    return Characters(
      code_points.row_splits,
      tf.gather(normalized, index),
      tf.gather(is_mark, index),
    )

  def get_config(self):
    """Arguments that rebuild the layer."""
    return {
      **super().get_config(),
      "vocabulary": self.vocabulary,
      "do_lower_case": self.do_lower_case,
    }

  def _unknown_long_words(self, ids, starts, ends, characters):
    """Makes one [UNK] of every word of over 200 characters.

    Args:
      ids: int32 ragged [batch, tokens].
      starts: int64 [all tokens], index among the characters of all texts.
      ends: int64 [all tokens], likewise.
      characters: `Characters`.

    Returns:
      `Tokens`, with offsets counted in each text.
    """
    word_ids, word_starts, is_long = _words(characters)
    word = tf.gather(word_ids, starts)
    token_is_long = tf.gather(is_long, word)
    is_first = tf.concat([[True], word[1:] != word[:-1]], 0)[: tf.size(word)]
    keep = is_first | ~token_is_long
    row_ids = ids.value_rowids()
    offset = tf.gather(characters.row_splits, row_ids)
    ids = tf.where(token_is_long, self.unknown_id, ids.values)
    starts = tf.where(token_is_long, tf.gather(word_starts, word), starts)
    ends = tf.where(token_is_long, tf.gather(word_starts, word + 1), ends)
    kept_rows = tf.boolean_mask(row_ids, keep)
    num_rows = tf.size(characters.row_splits, tf.int64) - 1

    def ragged(values):
      return tf.RaggedTensor.from_value_rowids(
        tf.cast(tf.boolean_mask(values, keep), tf.int32),
        kept_rows,
        nrows=num_rows,
        validate=False,
      )

    return Tokens(ragged(ids), ragged(starts - offset), ragged(ends - offset))


def one_row(values):
  """The only row of a batch: [n] as ragged [1, n]."""
  splits = tf.stack([0, tf.size(values)])
  return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def _fast_wordpiece(vocabulary):
  """tensorflow-text's tokenizer of single words."""
  try:
    return tf_text.FastWordpieceTokenizer(
      vocabulary,
      token_out_type=tf.int32,
      unknown_token=UNKNOWN_TOKEN,
      max_bytes_per_word=_MAX_WORD_BYTES,
    )
  except RuntimeError as error:
    # Special tokens only, or a token of over 256 bytes.
    raise ValueError(
      f"The vocabulary of {len(vocabulary)} tokens cannot be used: {error} "
      "Use the vocab.txt of a BERT model."
    ) from error


def _bytes_to_characters(byte_starts, byte_ends, characters):
  """Turns byte offsets into the normalized text into character indices.

  Args:
    byte_starts: int64 ragged [batch, tokens], in bytes of the row's text.
    byte_ends: int64 ragged [batch, tokens], likewise.
    characters: `Characters`.

  Returns:
    starts and ends, int64 [all tokens], indices among the characters of all
    texts. Dropped marks directly behind a token belong to it: "e" + U+0301 is
    one letter to a reader, whom half a letter as an answer would not serve.
  """
  byte_lengths = tf.strings.length(characters.normalized)
  behind = tf.cumsum(tf.cast(byte_lengths, tf.int64))  # [characters]
  before = tf.concat([[tf.constant(0, tf.int64)], behind], 0)
  row_ids = byte_starts.value_rowids()
  row_byte_start = tf.gather(tf.gather(before, characters.row_splits), row_ids)
  # The character that holds the first byte; behind the one that holds the last.
  starts = _search(behind, byte_starts.values + row_byte_start, "right")
  ends = _search(behind, byte_ends.values + row_byte_start, "left") + 1
  not_marks = tf.concat(
    [
      tf.where(~characters.is_mark)[:, 0],
      characters.row_splits[-1:],
    ],
    0,
  )
  after_marks = tf.gather(not_marks, _search(not_marks, ends, "left"))
  row_end = tf.gather(characters.row_splits[1:], row_ids)
  return starts, tf.minimum(after_marks, row_end)


def _search(sorted_values, values, side):
  """tf.searchsorted for one sorted row, as int64."""
  return tf.searchsorted(sorted_values, values, side=side, out_type=tf.int64)


def _words(characters):
  """Groups characters into what WordPiece takes as words.

  Args:
    characters: `Characters`.

  Returns:
    word_ids: int64 [characters], ascending over all texts.
    word_starts: int64 [words + 1], index of each word's first character; the
      last entry is the number of characters.
    is_long: bool [words], over 200 characters after normalization.
  """
  distinct, index = tf.unique(characters.normalized)
  is_break = tf.gather(
    tf.strings.regex_full_match(distinct, _WORD_BREAK), index
  )
  # Hangul syllables become two or three characters.
  lengths = tf.gather(tf.strings.length(distinct, unit="UTF8_CHAR"), index)
  num_characters = characters.row_splits[-1]
  text_begins = tf.scatter_nd(
    characters.row_splits[:-1, tf.newaxis],
    tf.ones_like(characters.row_splits[:-1], tf.int32),
    [num_characters + 1],  # texts without characters may begin at the end
  )[:-1]
  after_break = tf.concat([[True], is_break[:-1]], 0)[:num_characters]
  begins = is_break | after_break | (text_begins > 0)
  word_ids = tf.cumsum(tf.cast(begins, tf.int64)) - 1
  word_starts = tf.concat([tf.where(begins)[:, 0], [num_characters]], 0)
  word_lengths = tf.math.segment_sum(lengths, word_ids)
  return word_ids, word_starts, word_lengths > MAX_WORD_CHARACTERS
