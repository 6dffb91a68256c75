"""Counts what the vocabulary maps to [UNK]."""

import collections

import tensorflow as tf

from bert_span.storage.utf8 import encodable


class UnknownWords:
  """Counts the words of texts that become [UNK].

  WordPiece gives up on a word as a whole, mostly for one character that the
  vocabulary lacks: "5½" becomes [UNK] where "½" is no token.

  Attributes:
    num_tokens: tokens of all texts.
    num_unknown_tokens: those that are [UNK].
    num_characters: characters of the tokens, without white space and what the
      tokenizer drops.
    num_unknown_characters: those that are part of an [UNK].
  """

  def __init__(self, tokenizer):
    self.num_tokens = self.num_unknown_tokens = 0
    self.num_characters = self.num_unknown_characters = 0
    self._tokenizer = tokenizer
    self._counts = collections.Counter()
    self._first = {}

  def add(self, texts, tokens, indices):
    """Counts a batch of texts, their `Tokens` and the examples' indices."""
    starts = tokens.char_starts.flat_values.numpy()
    ends = tokens.char_ends.flat_values.numpy()
    rows = tokens.ids.value_rowids().numpy()
    unknown = tokens.ids.flat_values.numpy() == self._tokenizer.unknown_id
    self.num_tokens += len(unknown)
    self.num_unknown_tokens += int(unknown.sum())
    self.num_characters += int((ends - starts).sum())
    self.num_unknown_characters += int((ends - starts)[unknown].sum())
    for row, start, end in zip(
      rows[unknown], starts[unknown], ends[unknown], strict=True
    ):
      word, index = texts[row][start:end], int(indices[row])
      self._counts[word] += 1
      self._first[word] = min(self._first.get(word, index), index)

  def words(self):
    """[UNK] words, the most frequent first: (word, count, first index)."""
    return _by_frequency(self._counts, self._first)

  def characters(self):
    """As `words`, their characters that are [UNK] by themselves.

    A word can be [UNK] without such a character: when it has over 200
    characters, or when a character is no token within words.
    """
    distinct = sorted({c for word in self._counts for c in word})
    if not distinct:
      return []
    tokens = self._tokenizer(tf.constant([encodable(c) for c in distinct]))
    is_unknown = tf.reduce_any(tokens.ids == self._tokenizer.unknown_id, axis=1)
    unknown = {
      c for c, u in zip(distinct, is_unknown.numpy(), strict=True) if u
    }
    counts, first = collections.Counter(), {}
    for word, count in self._counts.items():
      for character in unknown.intersection(word):
        counts[character] += count * word.count(character)
        index = self._first[word]
        first[character] = min(first.get(character, index), index)
    return _by_frequency(counts, first)


def _by_frequency(counts, first):
  order = sorted(counts, key=lambda key: (-counts[key], first[key], key))
  return [(key, counts[key], first[key]) for key in order]
