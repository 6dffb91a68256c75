"""WordPiece tokens with character offsets, equal to those of run_squad.

tensorflow-text's BERT tokenizers normalize by NFKC, or report offsets into the
normalized text. run_squad normalizes by NFD, and answers need offsets into the
original text. So this module normalizes each character itself and uses
tensorflow-text for the WordPiece algorithm only.
"""

from typing import NamedTuple

import keras
import keras_hub
import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_span.text.added_tokens import (
  WHITE_SPACE,
  AddedTokenFinder,
  in_source,
)
from bert_span.text.vocabulary import (
  CLS_TOKEN,
  SEP_TOKEN,
  UNKNOWN_TOKEN,
  AddedToken,
  ExtendedVocabulary,
  WordPieces,
  check_vocabulary,
  with_added_contents,
)

# As run_squad: WordpieceTokenizer.max_input_chars_per_word.
_MAX_WORD_CHARACTERS = 200
# As run_squad: U+0000, U+FFFD and the categories Cc and Cf are dropped, except
# tab, newline and carriage return.
_DROPPED = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}\x{fffd}\p{Cf}]"
# What run_squad calls Chinese characters: first, last, and how far away are the
# private ones that replace them if they are to be no words, which
# tensorflow-text would make of them.
_CHINESE = (
  *((0x3400, 0x4DBF, 0xF0000), (0x4E00, 0x9FFF, 0xF0000)),
  *((0xF900, 0xFAFF, 0xF0000), (0x20000, 0x2A6DF, 0xE0000)),
  *((0x2A700, 0x2CEAF, 0xE0000), (0x2F800, 0x2FA1F, 0xE0000)),
)
_PRIVATE = {
  code: code + shift
  for first, last, shift in _CHINESE
  for code in range(first, last + 1)
}
# Text that is tokenized at once, which takes some 100 bytes a character.
_PIECE_BYTES = 1 << 18


class Tokens(NamedTuple):
  """Tokens of a batch of texts, each int32 ragged [batch, tokens]."""

  ids: tf.RaggedTensor
  char_starts: tf.RaggedTensor  # offset of the first character
  char_ends: tf.RaggedTensor  # offset after the last character

  def gather(self, indices):
    return Tokens(*(tf.gather(part, indices) for part in self))


def ragged_tokens(parts, rows, num_texts):
  """Makes `Tokens` of flat ids, starts, ends and rows, all [tokens]."""
  ragged = tf.RaggedTensor.from_value_rowids
  return Tokens(*(ragged(x, rows, num_texts, validate=False) for x in parts))


def character_ends(code_points):
  """Returns the end of each character in UTF-8, in bytes, int64 [n]."""
  limits = tf.constant([0x80, 0x800, 0x10000], code_points.dtype)
  return tf.cumsum(1 + tf.searchsorted(limits, code_points, "right", tf.int64))


class Characters(NamedTuple):
  """The characters of a batch of texts, concatenated."""

  row_splits: tf.Tensor  # int64 [batch + 1], where each text begins
  normalized: tf.Tensor  # string [characters], "" if dropped
  is_mark: tf.Tensor  # bool [characters], a dropped combining mark


class Tokenizer(keras_hub.tokenizers.Tokenizer):
  """A tokenizer of KerasHub's that gives `Tokens`: ids with their offsets.

  Added tokens are found in a text first; what is between them is tokenized as
  texts of their own. Special tokens, such as [SEP], are ordinary characters.

  It is saved and loaded with the model that it is part of, see
  `Extractor.save_to_preset`.
  """

  # The arguments that a model directory has as files of their own.
  file_arguments = "vocabulary", "added_tokens"
  # Whether the offsets of an added token leave out blanks at its ends.
  _trims_added_tokens = False

  def __init__(self, vocabulary, added_tokens=(), **kwargs):
    super().__init__(**kwargs)
    self.built = True  # nothing to build
    tokens = list(vocabulary)
    self._num_own = len(tokens)  # those of `vocabulary`
    self.added_tokens = tuple(AddedToken(*each) for each in added_tokens)
    tokens = with_added_contents(tokens, self.added_tokens)
    # An array: Keras would look for layers among the tokens of a list.
    self._vocabulary = np.array(tokens, object)
    self._as_written = self._in_normalized = None

  def _find_added_tokens(self):
    """Prepares to find the added tokens; the last step of __init__."""
    ids = {token: i for i, token in enumerate(self.vocabulary)}
    for is_normalized in (False, True):
      tokens = [t for t in self.added_tokens if t.normalized == is_normalized]
      contents = [token.content for token in tokens]
      if is_normalized and tokens:
        contents = self._normalized_contents(contents)
        # Nothing is left of a lone accent.
        tokens = [
          t for t, content in zip(tokens, contents, strict=True) if content
        ]
        contents = list(filter(None, contents))
      if not tokens:
        continue
      finder = AddedTokenFinder(
        tokens,
        contents,
        [ids[token.content] for token in tokens],
        self._trims_added_tokens,
      )
      if is_normalized:
        self._in_normalized = finder
      else:
        self._as_written = finder

  @property
  def vocabulary(self):
    """List of tokens; the index is the id."""
    return self._vocabulary.tolist()

  def get_vocabulary(self):
    """Returns the list of tokens; the index is the id."""
    return self.vocabulary

  def vocabulary_size(self):
    """Returns the number of tokens."""
    return len(self._vocabulary)

  def id_to_token(self, id):
    """Returns the token of an id."""
    return self._vocabulary[id]

  def token_to_id(self, token):
    """Returns the id of a token; ValueError if there is none."""
    return self.vocabulary.index(token)

  def tokenize(self, texts):
    """Returns the `Tokens` of texts, string [batch] in UTF-8 or list of str."""
    texts = tf.convert_to_tensor(texts, tf.string)
    if tf.inside_function():
      # Of a wrong shape, the tf.function would keep its lock and never end the
      # call of another thread.
      return self._traced_tokens(tf.ensure_shape(texts, [None]))
    return self._all_tokens(texts)

  # Questions and passages share it in every graph.
  @tf.function(
    input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
  )
  def _traced_tokens(self, texts):
    return self._all_tokens(texts)

  def _all_tokens(self, texts):
    """`tokenize` of a tensor."""
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8")
    if not self._as_written:
      return self._normalized_tokens(texts)
    found = self._as_written.find(texts)
    return _around(found, texts, self._normalized_tokens)

  def _normalized_contents(self, contents):
    """The contents of added tokens, list of str, in normalized text."""
    return contents

  def _normalized_tokens(self, texts):
    """The `Tokens` of texts without the tokens that are found as written."""
    if not self._in_normalized:
      return self._tokens(texts)
    return _around(self._find_in_normalized(texts), texts, self._tokens)

  def _find_in_normalized(self, texts):
    """The `FoundTokens` of the normalized texts, with offsets into `texts`."""
    return self._in_normalized.find(texts)

  @property
  def full_vocabulary(self):
    """What a `SpanPreprocessor` is made of."""
    own = self._own_vocabulary()
    if self.added_tokens:
      return ExtendedVocabulary(own, self.added_tokens)
    return own

  @property
  def resources(self):
    """Resources of the ops, for a SavedModel to track."""
    return ()

  def _own_tokens(self):
    """The tokens of the argument `vocabulary`."""
    return self.vocabulary[: self._num_own]

  # KerasHub's would return ragged lists.
  def call(self, texts):
    return self.tokenize(texts)

  def get_config(self):
    config = {**super().get_config(), "vocabulary": self._own_tokens()}
    if self.added_tokens:
      config["added_tokens"] = [[*token] for token in self.added_tokens]
    return config

  @classmethod
  def from_preset(cls, preset, **kwargs):
    """Raises ValueError: a tokenizer is loaded with its model."""
    raise ValueError(
      f"{cls.__name__} is loaded with its model: "
      f"bert_span.Extractor.from_preset({preset!r}).preprocessor.tokenizer."
    )

  def save_to_preset(self, preset_dir):
    """Raises ValueError: a tokenizer is saved with its model."""
    raise ValueError(
      "A tokenizer is saved with its model: extractor.save_to_preset("
      f"{preset_dir!r})."
    )


@keras.saving.register_keras_serializable(package="bert_span")
class WordPieceTokenizer(Tokenizer):
  """Splits texts into WordPieces with offsets, as run_squad's FullTokenizer.

  The layer uses TensorFlow ops only. Invalid UTF-8 counts as U+FFFD.

  Example:

  ```python
  tokenizer = WordPieceTokenizer(load_vocabulary("vocab.txt"))
  tokens = tokenizer(tf.constant(["Étienne (1895-1943)."]))
  # tokens "etienne ( 1895 - 1943 ) ." as ids, and
  # tokens.char_starts  [[0, 8, 9, 13, 14, 18, 19]]
  # tokens.char_ends    [[7, 9, 13, 14, 18, 19, 20]]
  ```

  Args:
    vocabulary: list of tokens of a BERT model, the index is the id.
    do_lower_case: lower-case and strip accents (uncased models).
    keeps_accents: do not strip accents where text is lower-cased, as some
      German models.
    joins_chinese: make no word of each Chinese character, which run_squad does.
    added_tokens: `AddedToken`s, see `Tokenizer`.

  Source: google-research/bert, tokenization.py (BasicTokenizer and
  WordpieceTokenizer); the last three arguments as in the tokenizers library.
  """

  # Arguments of `SlidingWindows`. run_squad pads with 0.
  pad_id, num_separators = 0, 1

  def __init__(
    self,
    vocabulary,
    do_lower_case=True,
    keeps_accents=False,
    joins_chinese=False,
    added_tokens=(),
    **kwargs,
  ):
    check_vocabulary(vocabulary)
    vocabulary = list(vocabulary)
    super().__init__(vocabulary, added_tokens, **kwargs)
    self.do_lower_case = do_lower_case
    self.keeps_accents = keeps_accents
    self._strips_accents = do_lower_case and not keeps_accents
    self.joins_chinese = joins_chinese
    self.cls_id, self.sep_id, self.unknown_id = map(
      vocabulary.index, (CLS_TOKEN, SEP_TOKEN, UNKNOWN_TOKEN)
    )
    self._begins_word = np.array([not t.startswith("##") for t in vocabulary])
    if joins_chinese:
      vocabulary = [token.translate(_PRIVATE) for token in vocabulary]
    try:
      self.wordpiece = tf_text.FastWordpieceTokenizer(
        vocabulary,
        token_out_type=tf.int32,
        unknown_token=UNKNOWN_TOKEN,
        # Longer words become [UNK]; 200 characters have at most 800 bytes.
        max_bytes_per_word=4 * _MAX_WORD_CHARACTERS,
      )
    except RuntimeError as error:
      # Only special tokens, or a token with U+0000.
      raise ValueError(
        f"The vocabulary of {len(vocabulary)} tokens cannot be used: "
        f"{error!s:.200} Use the vocab.txt of a BERT model."
      ) from error
    self._find_added_tokens()

  def _own_vocabulary(self):
    rules = self.keeps_accents, self.joins_chinese
    vocabulary = self._own_tokens()
    return WordPieces(vocabulary, *rules) if any(rules) else vocabulary

  def _tokens(self, texts):
    # One text, in pieces of bounded memory. No word contains a line break.
    joined = tf.strings.reduce_join(texts, separator="\n")
    pieces = _pieces(joined, self.joins_chinese)
    found = tf.map_fn(
      self._tokens_of_piece,
      pieces,
      parallel_iterations=1,
      fn_output_signature=(tf.RaggedTensorSpec([None], tf.int32),) * 3,
    )
    first = tf.gather(_text_starts(pieces, 0), found[0].value_rowids())
    ids, starts, ends = (part.values for part in found)
    starts, ends = starts + first, ends + first
    text_starts = _text_starts(texts, 1)
    rows = tf.searchsorted(text_starts, starts, "right", tf.int64) - 1
    first = tf.gather(text_starts, rows)
    parts = (ids, starts - first, ends - first)
    return ragged_tokens(parts, rows, tf.size(texts, tf.int64))

  # AutoGraph changes nothing here and is slow where ops run one by one.
  @tf.autograph.experimental.do_not_convert
  def _tokens_of_piece(self, text):
    """Returns ids, starts and ends of a string scalar, int32 [tokens] each."""
    _, normalized, is_mark = self.normalized_characters(text[tf.newaxis])
    ids, byte_starts, byte_ends = self.wordpiece.tokenize_with_offsets(
      tf.strings.reduce_join(normalized)
    )
    after = tf.cumsum(tf.strings.length(normalized))  # [characters], bytes
    # The character of the first byte, and the one after that of the last.
    starts = tf.searchsorted(after, tf.cast(byte_starts, tf.int32), "right")
    ends = tf.searchsorted(after, tf.cast(byte_ends, tf.int32)) + 1
    # Dropped marks right after a token belong to it, so that an answer does not
    # end within the letter "e" + U+0301.
    not_marks = tf.concat([_indices(~is_mark), tf.shape(is_mark)], 0)
    ends = tf.gather(not_marks, tf.searchsorted(not_marks, ends))
    # Hangul syllables become two or three characters.
    lengths = tf.strings.length(normalized, unit="UTF8_CHAR")
    return self._unknown_long_words(ids, starts, ends, lengths)

  def normalized_characters(self, texts):
    """Returns the `Characters` of texts, string [batch], valid UTF-8."""
    if self._strips_accents:
      # The whole text at once: a final sigma depends on its neighbours.
      # U+0130 is the only character that would become two, i and a combining
      # dot, which is dropped anyway. tf.strings.lower cuts a text at U+0000;
      # U+FFFD is dropped the same way.
      texts = tf.strings.regex_replace(texts, "İ", "i")
      texts = tf.strings.regex_replace(texts, r"\x00", "\ufffd")
      texts = tf.strings.lower(texts, encoding="utf-8")
    code_points = tf.strings.unicode_decode(texts, "UTF-8")
    # The following ops run once for each distinct character, some hundred.
    distinct, index = tf.unique(code_points.values)
    distinct = tf.strings.unicode_encode(distinct[:, tf.newaxis], "UTF-8")
    kept = tf.strings.regex_replace(distinct, _DROPPED, "")
    normalized = kept
    if self.do_lower_case and self.keeps_accents:
      # A final sigma is as any other, and U+0130 becomes two characters.
      normalized = tf.strings.lower(kept, encoding="utf-8")
    if self._strips_accents:
      decomposed = tf_text.normalize_utf8(kept, "NFD")
      normalized = tf.strings.regex_replace(decomposed, r"\p{Mn}", "")
    if self.joins_chinese:
      normalized = _without_chinese(normalized)
    is_mark = tf.not_equal(kept, "") & tf.equal(normalized, "")
    return Characters(
      code_points.row_splits,
      tf.gather(normalized, index),
      tf.gather(is_mark, index),
    )

  def _find_in_normalized(self, texts):
    characters = tf.strings.unicode_decode(texts, "UTF-8")
    normalized, is_mark = self._matched_characters(characters.values)
    rows = characters.value_rowids()
    found = self._in_normalized.find(
      tf.strings.unsorted_segment_join(normalized, rows, characters.nrows())
    )
    # Marks belong to the character before them, as in `_tokens_of_piece`.
    numbers = tf.range(tf.size(rows, tf.int64) + 1)
    not_marks = tf.concat(
      [tf.boolean_mask(numbers[:-1], ~is_mark), numbers[-1:]], 0
    )
    ends = tf.gather(not_marks, tf.searchsorted(not_marks, numbers[1:]))
    ends = tf.minimum(ends, tf.gather(characters.row_limits(), rows))
    lengths = tf.strings.length(normalized, unit="UTF8_CHAR")
    return in_source(
      found, *(tf.repeat(x, lengths) for x in (numbers[:-1], ends))
    )

  def _normalized_contents(self, contents):
    codes = tf.strings.unicode_decode(contents, "UTF-8")
    normalized, _ = self._matched_characters(codes.values)
    joined = tf.strings.unsorted_segment_join(
      normalized, codes.value_rowids(), codes.nrows()
    )
    return [content.decode() for content in joined.numpy()]

  def _matched_characters(self, code_points):
    """Characters as the tokenizers library normalizes them: string [n].

    There a final sigma is as any other, Chinese characters are between blanks,
    and all white space is a blank. The second result is as
    `Characters.is_mark`.
    """
    distinct, index = tf.unique(code_points)
    codes = distinct
    distinct = tf.strings.unicode_encode(distinct[:, tf.newaxis], "UTF-8")
    kept = tf.strings.regex_replace(distinct, _DROPPED, "")
    normalized = tf.strings.regex_replace(kept, f"[{WHITE_SPACE}]", " ")
    if self._strips_accents:
      normalized = tf_text.normalize_utf8(normalized, "NFD")
      normalized = tf.strings.regex_replace(normalized, r"\p{Mn}", "")
    if self.do_lower_case:
      normalized = tf.strings.lower(normalized, encoding="utf-8")
    is_mark = tf.not_equal(kept, "") & tf.equal(normalized, "")
    if not self.joins_chinese:
      is_chinese = tf.zeros_like(codes, tf.bool)
      for first, last, _ in _CHINESE:
        is_chinese |= (codes >= first) & (codes <= last)
      between = tf.strings.join([" ", normalized, " "])
      normalized = tf.where(is_chinese, between, normalized)
    return tf.gather(normalized, index), tf.gather(is_mark, index)

  def _unknown_long_words(self, ids, starts, ends, num_characters):
    """Makes every word of over 200 characters one [UNK].

    num_characters, int32 [offsets], are the characters at each offset.
    """
    before = tf.concat([[0], tf.cumsum(num_characters)], 0)
    is_first = tf.gather(self._begins_word, ids)
    word = tf.cumsum(tf.cast(is_first, tf.int32)) - 1  # [tokens]
    first = _indices(is_first)  # [words], tokens
    last = tf.concat([first[1:], tf.shape(ids)], 0)[: tf.size(first)] - 1
    word_starts, word_ends = tf.gather(starts, first), tf.gather(ends, last)
    lengths = tf.gather(before, word_ends) - tf.gather(before, word_starts)
    is_long = tf.gather(lengths > _MAX_WORD_CHARACTERS, word)
    ids = tf.where(is_long, self.unknown_id, ids)
    ends = tf.where(is_long, tf.gather(word_ends, word), ends)
    kept = _indices(is_first | ~is_long)
    return tuple(tf.gather(part, kept) for part in (ids, starts, ends))

  def get_config(self):
    return {
      **super().get_config(),
      "do_lower_case": self.do_lower_case,
      "keeps_accents": self.keeps_accents,
      "joins_chinese": self.joins_chinese,
    }


def _indices(condition):
  """Returns the indices at which a bool vector is True, int32 [n]."""
  return tf.cast(tf.where(condition)[:, 0], tf.int32)


def _around(found, texts, tokenize):
  """Returns the `Tokens` of texts: those found, and those between them.

  Args:
    found: `FoundTokens` of the texts.
    texts: string [batch], valid UTF-8.
    tokenize: gives the `Tokens` of texts, string [n].
  """
  characters = tf.strings.unicode_decode(texts, "UTF-8")
  splits = characters.row_splits
  # Where parts begin and end: a found token, or text without any. None is
  # empty.
  bounds = tf.sort(tf.concat([splits, found.starts, found.ends], 0))
  bounds, _ = tf.unique(bounds)
  first = bounds[:-1]  # [parts]
  number = tf.searchsorted(found.starts, first)  # of the token at or after it
  none = tf.constant([-1], tf.int64)
  is_found = tf.gather(tf.concat([found.starts, none], 0), number) == first
  parts = tf.RaggedTensor.from_row_splits(
    characters.values, bounds, validate=False
  )
  parts = tf.strings.unicode_encode(parts, "UTF-8")
  others = tokenize(tf.boolean_mask(parts, ~is_found))
  tokens = (
    found.ids,
    found.char_starts - found.starts,
    found.char_ends - found.starts,
  )
  # Those of the texts between, then those found.
  joined = [
    tf.concat([other, tf.cast(values[:, tf.newaxis], tf.int32)], 0)
    for other, values in zip(others, tokens, strict=True)
  ]
  is_other = tf.cast(~is_found, tf.int32)
  place = tf.where(
    is_found,
    tf.reduce_sum(is_other) + number,
    tf.cumsum(is_other, exclusive=True),
  )
  ids, starts, ends = (tf.gather(values, place) for values in joined)
  rows = tf.searchsorted(splits, first, "right", tf.int64) - 1  # [parts]
  moved = tf.cast(first - tf.gather(splits, rows), tf.int32)
  part = ids.value_rowids()
  moved, rows = tf.gather(moved, part), tf.gather(rows, part)
  return ragged_tokens(
    (ids.values, starts.values + moved, ends.values + moved),
    rows,
    tf.size(texts, tf.int64),
  )


def _text_starts(texts, gap):
  """Returns where each joined text begins, in characters, int32 [batch]."""
  lengths = tf.strings.length(texts, unit="UTF8_CHAR") + gap
  return tf.cumsum(lengths, exclusive=True)


def _without_chinese(texts):
  """Replaces Chinese characters by those of `_PRIVATE`; string [n]."""
  codes = tf.strings.unicode_decode(texts, "UTF-8")
  values = codes.values
  for first, last, shift in _CHINESE:
    is_within = (values >= first) & (values <= last)
    values = tf.where(is_within, values + shift, values)
  return tf.strings.unicode_encode(codes.with_values(values), "UTF-8")


def _pieces(text, joins_chinese):
  """Divides a text, string scalar, into pieces of some _PIECE_BYTES.

  A piece begins where a word must end: at a blank, a line break, or a Chinese
  character of U+5000 to U+8FFF, whose first byte is 0xE5 to 0xE8.
  """
  data = tf.io.decode_raw(text, tf.uint8)  # [bytes]
  is_blank = (data == ord(" ")) | (data == ord("\n"))
  is_chinese = (data >= 0xE5) & (data <= 0xE8)
  ends_of_words = _indices(is_blank if joins_chinese else is_blank | is_chinese)
  places = tf.range(0, tf.size(data), _PIECE_BYTES)[1:]
  size = tf.shape(data)
  found = tf.searchsorted(ends_of_words, places)
  cuts = tf.gather(tf.concat([ends_of_words, size], 0), found)
  begins, ends = tf.concat([[0], cuts], 0), tf.concat([cuts, size], 0)
  return tf.strings.substr(text, begins, ends - begins)
