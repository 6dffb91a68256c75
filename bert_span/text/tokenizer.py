"""WordPiece tokens with character offsets, equal to those of run_squad.

tensorflow-text's BERT tokenizers normalize by NFKC, or report offsets into the
normalized text. run_squad normalizes by NFD, and answers need offsets into the
original text. So this module normalizes each character itself and uses
tensorflow-text for the WordPiece algorithm only.
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
_MAX_WORD_CHARACTERS = 200
# tensorflow-text returns [UNK] for longer words. 200 characters have at most
# 800 bytes.
_MAX_WORD_BYTES = 4 * _MAX_WORD_CHARACTERS

# As run_squad: U+0000, U+FFFD and the categories Cc and Cf are dropped, except
# tab, newline and carriage return.
_DROPPED = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}\x{fffd}\p{Cf}]"


class Tokens(NamedTuple):
  """WordPieces of a batch of texts, with half-open character offsets.

  Attributes:
    ids: int32 ragged [batch, tokens], vocabulary ids.
    char_starts: int32 ragged [batch, tokens], offset of the first character.
    char_ends: int32 ragged [batch, tokens], offset after the last character.
  """

  ids: tf.RaggedTensor
  char_starts: tf.RaggedTensor
  char_ends: tf.RaggedTensor

  def gather(self, indices):
    """Selects the texts at `indices`, int32 [n]."""
    return Tokens(*(tf.gather(part, indices) for part in self))


class Characters(NamedTuple):
  """The characters of a batch of texts, concatenated.

  Attributes:
    row_splits: int64 [batch + 1], where each text begins.
    normalized: string [characters], each after normalization; "" if dropped.
    is_mark: bool [characters], whether it is a dropped combining mark.
  """

  row_splits: tf.Tensor
  normalized: tf.Tensor
  is_mark: tf.Tensor


@keras.saving.register_keras_serializable(package="bert_span")
class WordPieceTokenizer(keras.layers.Layer):
  """Splits texts into WordPieces with offsets, as run_squad's FullTokenizer.

  The layer uses TensorFlow ops only, so it runs eagerly, in tf.data and in an
  exported graph. Invalid UTF-8 counts as U+FFFD.

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

  Raises:
    ValueError: the list is not a BERT vocabulary.

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
    self._begins_word = np.array([not t.startswith("##") for t in vocabulary])
    try:
      self.wordpiece = tf_text.FastWordpieceTokenizer(
        vocabulary,
        token_out_type=tf.int32,
        unknown_token=UNKNOWN_TOKEN,
        max_bytes_per_word=_MAX_WORD_BYTES,
      )
    except RuntimeError as error:
      # Only special tokens, or a token of over 256 bytes.
      raise ValueError(
        f"The vocabulary of {len(vocabulary)} tokens cannot be used: {error} "
        "Use the vocab.txt of a BERT model."
      ) from error

  @property
  def vocabulary(self):
    """List of tokens; the index is the id."""
    return self._vocabulary.tolist()

  def __call__(self, texts):
    # Keras accepts tensors and arrays, not lists of Python strings.
    if isinstance(texts, list):
      texts = tf.constant(texts, tf.string)
    return super().__call__(texts)

  def call(self, texts):
    """Returns the `Tokens` of texts, string [batch], UTF-8."""
    characters = self.normalized_characters(texts)
    joined = tf.strings.reduce_join(
      tf.RaggedTensor.from_row_splits(
        characters.normalized, characters.row_splits, validate=False
      ),
      axis=-1,
    )
    found, byte_starts, byte_ends = self.wordpiece.tokenize_with_offsets(joined)
    # Hangul syllables become two or three characters.
    lengths = tf.strings.length(characters.normalized, unit="UTF8_CHAR")
    kept, ids, starts, ends = self.unknown_long_words(
      found.values,
      *_bytes_to_characters(byte_starts, byte_ends, characters),
      lengths,
    )
    rows = tf.gather(found.value_rowids(), kept)
    text_starts = tf.gather(characters.row_splits, rows)

    def ragged(values):
      return tf.RaggedTensor.from_value_rowids(
        tf.cast(values, tf.int32), rows, nrows=found.nrows(), validate=False
      )

    return Tokens(
      ragged(ids), ragged(starts - text_starts), ragged(ends - text_starts)
    )

  def normalized_characters(self, texts):
    """Returns the `Characters` of texts, string [batch], UTF-8.

    String ops run once for each distinct character of the batch, some hundred.
    """
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
    if self.do_lower_case:
      # The whole text at once: a final sigma depends on its neighbours.
      # U+0130 is the only character that would become two, i and a combining
      # dot, which is dropped anyway. tf.strings.lower cuts a text at U+0000;
      # U+FFFD is dropped the same way.
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

  def unknown_long_words(self, ids, starts, ends, num_characters):
    """Replaces every word of over 200 characters by one [UNK].

    num_characters, int32 [offsets], are the characters at each offset. Returns
    the indices of the remaining tokens, and their ids, starts and ends.
    """
    before = tf.concat([[0], tf.cumsum(num_characters)], 0)
    is_first = tf.gather(self._begins_word, ids)
    word = tf.cumsum(tf.cast(is_first, tf.int32)) - 1  # [tokens]
    first = _indices(is_first)  # [words], tokens
    last = tf.concat([first[1:], tf.shape(ids)], 0)[: tf.size(first)] - 1
    word_ends = tf.gather(ends, last)
    lengths = tf.gather(before, word_ends) - tf.gather(
      before, tf.gather(starts, first)
    )
    is_long = tf.gather(lengths > _MAX_WORD_CHARACTERS, word)
    ids = tf.where(is_long, self.unknown_id, ids)
    ends = tf.where(is_long, tf.gather(word_ends, word), ends)
    kept = _indices(is_first | ~is_long)
    return kept, *(tf.gather(part, kept) for part in (ids, starts, ends))

  def get_config(self):
    """Returns the arguments that rebuild the layer."""
    return {
      **super().get_config(),
      "vocabulary": self.vocabulary,
      "do_lower_case": self.do_lower_case,
    }


def _indices(condition):
  """int32 [n], the indices at which a bool vector is True."""
  return tf.cast(tf.where(condition)[:, 0], tf.int32)


def one_row(values):
  """Returns [n] as ragged [1, n]."""
  splits = tf.stack([0, tf.size(values)])
  return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


def _bytes_to_characters(byte_starts, byte_ends, characters):
  """Converts byte offsets in normalized texts to indices of `characters`.

  Dropped marks right after a token belong to it, so that an answer does not
  end within the letter "e" + U+0301. Both results are int64 [all tokens].
  """
  byte_lengths = tf.strings.length(characters.normalized)
  after = tf.cumsum(tf.cast(byte_lengths, tf.int64))  # [characters]
  before = tf.concat([[tf.constant(0, tf.int64)], after], 0)
  row_ids = byte_starts.value_rowids()
  row_byte_start = tf.gather(tf.gather(before, characters.row_splits), row_ids)
  # The character of the first byte; the one after that of the last byte.
  starts = _search(after, byte_starts.values + row_byte_start, "right")
  ends = _search(after, byte_ends.values + row_byte_start, "left") + 1
  not_marks = tf.concat(
    [tf.where(~characters.is_mark)[:, 0], characters.row_splits[-1:]], 0
  )
  after_marks = tf.gather(not_marks, _search(not_marks, ends, "left"))
  row_end = tf.gather(characters.row_splits[1:], row_ids)
  return starts, tf.minimum(after_marks, row_end)


def _search(sorted_values, values, side):
  return tf.searchsorted(sorted_values, values, side=side, out_type=tf.int64)
