"""Byte-level BPE tokens with character offsets, as GPT-2 and RoBERTa use them.

A text is cut into words first. A word is a contraction's end ('s, 't, 're, 've,
'm, 'll, 'd), letters, numbers or other characters, each with one space before
it, or white space. The bytes of a word are its first tokens, and the merge of
the lowest rank is applied to neighbouring tokens until none applies:

    text     It's low  tide
    words    It 's _low _ _tide         (_ is a space)
    bytes    _ t i d e
    merges   _t i d e -> _t id e -> _t ide -> _tide

tensorflow-text's SentencePiece op applies the merges. It merges two neighbours
if their joined bytes are a token, in the order of the tokens' scores. With one
merge a token and scores by rank, this gives the same tokens.
"""

import functools

import keras
import numpy as np
import tensorflow as tf

from bert_span.text.added_tokens import WHITE_SPACE
from bert_span.text.sentencepiece_model import (
  BPE,
  CONTROL,
  UNKNOWN,
  ModelProto,
  piece_ops,
)
from bert_span.text.tokenizer import (
  Tokenizer,
  character_ends,
  ragged_tokens,
)
from bert_span.text.vocabulary import BytePairs

_WORD = (
  r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+"
  rf"| ?[^{WHITE_SPACE}\p{{L}}\p{{N}}]+|[{WHITE_SPACE}]+"
)
# Ends a word; no byte of UTF-8, so neither a text nor a class contains it.
_END = b"\xff"


@keras.saving.register_keras_serializable(package="bert_span")
class BytePairTokenizer(Tokenizer):
  """Splits texts into byte-level BPE tokens with offsets, as RoBERTa does.

  The layer uses TensorFlow ops only. Invalid UTF-8 counts as U+FFFD.

  The offsets leave out the space that a token starts with: the tokens of "It's
  low tide", "It 's Ġlow Ġtide", have the char_starts 0 2 5 9 and the char_ends
  2 4 8 13. A part of a character has the offsets of the character.

  Args:
    vocabulary: list of tokens in the byte alphabet of GPT-2, where "Ġ" is a
      space; the index is the id.
    merges: list of str, two tokens with a space between them, by rank.
    add_prefix_space: begin each text with a space, so that its first word has
      the same tokens as elsewhere.
    added_tokens: `AddedToken`s, see `Tokenizer`. They are written as in a text,
      without the byte alphabet, in `vocabulary`, too.

  Source: Radford et al. 2019 (GPT-2), section 2.2; Liu et al. 2019 (RoBERTa).
  """

  # A window is <s> question </s></s> passage </s>.
  num_separators, do_lower_case = 2, False
  special_tokens = "<s>", "</s>", "<pad>"
  file_arguments = "vocabulary", "merges", "added_tokens"
  _trims_added_tokens = True

  def __init__(
    self,
    vocabulary,
    merges,
    add_prefix_space=False,
    added_tokens=(),
    **kwargs,
  ):
    super().__init__(vocabulary, added_tokens, **kwargs)
    tokens = self._own_tokens()
    self._merges = np.array(list(merges), object)
    self.add_prefix_space = add_prefix_space
    ranks = _ranks(tokens, self._merges)
    # Each byte as the character of its number.
    characters = [
      "".join(chr(BYTES[c]) for c in token if token in ranks)
      for token in tokens
    ]
    # Bytes of each token, and of the spaces at its start and its end.
    self._num_bytes, self._leading, self._trailing = np.array(
      [
        [len(c), len(c) - len(c.lstrip(" ")), len(c) - len(c.rstrip(" "))]
        for c in characters
      ],
      np.int64,
    ).T
    # Applies the merges.
    self.resource = piece_ops(_sentencepiece_model(tokens, characters, ranks))
    self._find_added_tokens()

  cls_id = functools.cached_property(lambda self: self._special_id(0))
  sep_id = functools.cached_property(lambda self: self._special_id(1))
  pad_id = functools.cached_property(lambda self: self._special_id(2))

  def _special_id(self, number):
    token, tokens = self.special_tokens[number], self.vocabulary
    if token not in tokens:
      raise ValueError(
        f"The vocabulary of {len(tokens)} tokens lacks {token}. Use the "
        "vocabulary that belongs to the model."
      )
    return tokens.index(token)

  @property
  def resources(self):
    return (self.resource,)

  def _own_vocabulary(self):
    return BytePairs(self._own_tokens(), self._merges.tolist())

  def _tokens(self, texts):
    prefixes = tf.zeros_like(texts, tf.int64)
    if self.add_prefix_space:
      lacks_space = ~tf.strings.regex_full_match(texts, r"(?s) .*")
      texts = tf.where(lacks_space, tf.strings.join([" ", texts]), texts)
      prefixes = tf.cast(lacks_space, tf.int64)
    characters = tf.strings.unicode_decode(texts, "UTF-8")
    words = tf.strings.split(_with_ends(texts), _END).values
    words, index = tf.unique(words)  # a text says many words twice
    # Each byte becomes the character of its number.
    words = tf.strings.unicode_transcode(words, "ISO-8859-1", "UTF-8")
    ids = tf.gather(self.resource.tokenize(words), index).values  # [tokens]

    byte_ends = tf.cumsum(tf.gather(self._num_bytes, ids))
    byte_starts = byte_ends - tf.gather(self._num_bytes, ids)
    # The characters of the first and of the last byte.
    after = character_ends(characters.values)
    starts = tf.searchsorted(after, byte_starts, "right", tf.int64)
    ends = tf.searchsorted(after, byte_ends, "left", tf.int64) + 1
    rows = tf.gather(characters.value_rowids(), starts)
    # Without the spaces around the token, and before the first character.
    starts = tf.minimum(starts + tf.gather(self._leading, ids), ends)
    ends = tf.maximum(ends - tf.gather(self._trailing, ids), starts)
    first = tf.gather(characters.row_splits, rows) + tf.gather(prefixes, rows)

    starts, ends = tf.maximum(starts - first, 0), tf.maximum(ends - first, 0)
    parts = (tf.cast(part, tf.int32) for part in (ids, starts, ends))
    return ragged_tokens(parts, rows, characters.nrows())

  def get_config(self):
    return super().get_config() | {
      "merges": self._merges.tolist(),
      "add_prefix_space": self.add_prefix_space,
    }


def _with_ends(texts):
  r"""Puts `_END` after every word of the texts.

  Only one space before a word belongs to it: "a\n b" has "a", "\n" and " b".
  RE2 lacks GPT-2's look-ahead \s+(?!\S) for this, so white space before a word
  is ended before its last character first.
  """
  before_last = rf"([{WHITE_SPACE}])([{WHITE_SPACE}][^{WHITE_SPACE}])"
  texts = tf.strings.regex_replace(texts, before_last, rb"\1%b\2" % _END)
  return tf.strings.regex_replace(texts, _WORD, rb"\0" + _END)


# GPT-2's 256 printable characters, and the bytes they stand for.
_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTES = {chr(byte): byte for byte in _PRINTABLE} | {
  chr(256 + i): byte for i, byte in enumerate(_OTHERS)
}


def tokens_of_merges(merges):
  """The set of tokens that a word can have: bytes, and results of merges."""
  return {*BYTES, *(merge.replace(" ", "") for merge in merges)}


def _ranks(vocabulary, merges):
  """Maps each token that a text can have to its rank; bytes have -1."""
  ranks = dict.fromkeys(BYTES, -1)
  for rank, merge in enumerate(merges):
    ranks.setdefault(merge.replace(" ", ""), rank)
  possible = [token for token in vocabulary if BYTES.keys() >= {*token}]
  missing = sorted(ranks.keys() - {*possible}, key=ranks.get)
  if missing:
    raise ValueError(
      f"The vocabulary of {len(vocabulary)} tokens lacks {len(missing)} bytes "
      f"or results of merges, such as {missing[0]!r}. Use the vocab.json and "
      "merges.txt of one model."
    )
  return ranks


def _sentencepiece_model(vocabulary, characters, ranks):
  """Returns a serialized SentencePiece model that applies the merges to bytes.

  Other tokens than those of a merge, such as <s>, are never found in a text.
  """
  model = ModelProto()
  for token, character in zip(vocabulary, characters, strict=True):
    if token in ranks:
      model.pieces.add(piece=character, score=-1.0 - ranks[token])
    else:
      model.pieces.add(piece=f"\u2581{token}", type=CONTROL)
  # SentencePiece asks for an unknown token, which is never found either.
  model.pieces.add(piece="\u2581", type=UNKNOWN)
  model.trainer_spec.model_type = BPE
  model.normalizer_spec.name = "identity"
  model.normalizer_spec.add_dummy_prefix = False
  model.normalizer_spec.remove_extra_whitespaces = False
  model.normalizer_spec.escape_whitespaces = False
  return model.SerializeToString()
