"""Added tokens, which are found in texts before these are tokenized.

As in the tokenizers library, the leftmost and then the longest one counts. A
token may have to be a whole word, or take the white space beside it:

    added tokens  [Q] with rstrip, ab with single_word
    text          ab[Q]  cab ab
    found         ab at 0:2, [Q] at 2:7, ab at 11:13
    other texts   "cab "

Source: huggingface/tokenizers, added_vocabulary.rs.
"""

import re
from typing import NamedTuple

import numpy as np
import tensorflow as tf

# Unicode's White_Space, which is more than RE2's \s.
WHITE_SPACE = r"\t-\r\x{85}\p{Z}"
# Characters of words: Unicode's Alphabetic, and marks, digits, connectors and
# joiners.
_WORD = (
  r"[\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}"
  r"\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}\x{200C}\x{200D}]"
)
# Is beside each token; no byte of UTF-8, so no text contains it.
_MARK = b"\xff"
_BUCKETS = 2**62


class FoundTokens(NamedTuple):
  """Added tokens in a batch of texts, in their order, each int64 [found].

  Offsets are in characters from the beginning of the first text.
  """

  starts: tf.Tensor
  ends: tf.Tensor
  ids: tf.Tensor
  char_starts: tf.Tensor  # as `Tokens` have them
  char_ends: tf.Tensor


class AddedTokenFinder:
  """Finds added tokens in texts.

  Args:
    tokens: list of `AddedToken`, at least one.
    contents: list of str, the texts that are looked for.
    ids: list of int.
    leaves_out_blanks: whether offsets leave out white space at the ends.
  """

  def __init__(self, tokens, contents, ids, leaves_out_blanks=False):
    distinct = {}
    for i, content in enumerate(contents):
      distinct.setdefault(content, i)
    longest_first = sorted(distinct, key=len, reverse=True)
    self._pattern = f"({'|'.join(map(re.escape, longest_first))})"
    hashes = _hashes([*distinct]).numpy()
    order = np.argsort(hashes)
    self._hashes, number = hashes[order], np.array([*distinct.values()])[order]
    kept = [tokens[i] for i in number]
    self._ids = np.array(ids, np.int64)[number]
    self._single_word, self._lstrip, self._rstrip = (
      np.array([getattr(token, name) for token in kept])
      for name in ("single_word", "lstrip", "rstrip")
    )
    self._leaves_out_blanks = leaves_out_blanks
    self._leading, self._trailing = np.array(
      [
        [len(c) - len(c.lstrip()), len(c) - len(c.rstrip())]
        for c in (token.content for token in kept)
      ],
      np.int64,
    ).T

  def find(self, texts):
    """Returns the `FoundTokens` of texts, string [batch], valid UTF-8."""
    marked = tf.strings.regex_replace(
      texts, self._pattern, rb"%b\1%b" % (_MARK, _MARK)
    )
    # Texts without tokens, and tokens, in turn.
    pieces = tf.strings.split(marked, _MARK)
    is_token = tf.ragged.range(pieces.row_lengths()).values % 2 == 1
    lengths = tf.strings.length(pieces.values, unit="UTF8_CHAR")
    ends = tf.cumsum(tf.cast(lengths, tf.int64))
    rows, ends, lengths, contents = (
      tf.boolean_mask(x, is_token)
      for x in (pieces.value_rowids(), ends, lengths, pieces.values)
    )
    starts = ends - tf.cast(lengths, tf.int64)
    number = tf.searchsorted(self._hashes, _hashes(contents))
    outer = starts, ends
    if (self._single_word | self._lstrip | self._rstrip).any():
      *outer, is_kept = self._with_neighbours(texts, rows, starts, ends, number)
      starts, ends, number, *outer = (
        tf.boolean_mask(x, is_kept) for x in (starts, ends, number, *outer)
      )
      # White space between two tokens belongs to the first, if it takes it.
      last = tf.constant([tf.int64.max], tf.int64)
      limit = tf.concat([starts[1:], last], 0)[: tf.size(starts)]
      outer_ends = tf.minimum(outer[1], limit)
      taken = tf.concat([tf.zeros_like(ends[:1]), outer_ends[:-1]], 0)
      outer = tf.maximum(outer[0], taken), outer_ends
    ids = tf.gather(self._ids, number)
    if not self._leaves_out_blanks:
      return FoundTokens(*outer, ids, *outer)
    starts = tf.minimum(starts + tf.gather(self._leading, number), ends)
    ends = tf.maximum(ends - tf.gather(self._trailing, number), starts)
    return FoundTokens(*outer, ids, starts, ends)

  def _with_neighbours(self, texts, rows, starts, ends, number):
    """Starts and ends with white space, and which tokens are none in words."""
    characters = tf.strings.unicode_decode(texts, "UTF-8")
    first = tf.gather(characters.row_starts(), rows)
    limit = tf.gather(characters.row_limits(), rows)
    distinct, index = tf.unique(characters.values)
    distinct = tf.strings.unicode_encode(distinct[:, tf.newaxis], "UTF-8")

    def match(pattern):  # bool [characters]
      return tf.gather(tf.strings.regex_full_match(distinct, pattern), index)

    is_word, no = match(_WORD), tf.constant([False])
    follows_word = tf.gather(tf.concat([no, is_word], 0), starts)
    precedes_word = tf.gather(tf.concat([is_word, no], 0), ends)
    is_in_word = (follows_word & (starts > first)) | (
      precedes_word & (ends < limit)
    )
    is_kept = ~(tf.gather(self._single_word, number) & is_in_word)
    dark = tf.where(match(f"[^{WHITE_SPACE}]"))[:, 0]
    before = tf.gather(
      tf.concat([[tf.constant(0, tf.int64)], dark + 1], 0),
      tf.searchsorted(dark, starts),
    )
    after = tf.gather(
      tf.concat([dark, characters.row_splits[-1:]], 0),
      tf.searchsorted(dark, ends),
    )
    starts = tf.where(
      tf.gather(self._lstrip, number), tf.maximum(first, before), starts
    )
    ends = tf.where(
      tf.gather(self._rstrip, number), tf.minimum(limit, after), ends
    )
    return starts, ends, is_kept


def in_source(found, starts, ends):
  """Moves tokens from normalized texts to those that were normalized.

  A character that several were made of is in a token as a whole or not.

  Args:
    found: `FoundTokens` of the normalized texts.
    starts, ends: int64 [characters of normalized texts], the offsets of what
      each was made of.

  Returns:
    The `FoundTokens` of the texts.
  """
  none = tf.constant([-1], tf.int64)
  these = tf.concat([starts, none], 0)
  previous = tf.concat([none, starts], 0)

  def is_within(place):  # of what one character became
    return tf.gather(these, place) == tf.gather(previous, place)

  first, last = found.starts, found.ends - 1
  new_starts = tf.where(
    is_within(found.starts), tf.gather(ends, first), tf.gather(starts, first)
  )
  new_ends = tf.where(
    is_within(found.ends), tf.gather(starts, last), tf.gather(ends, last)
  )
  # A lone blank has no character.
  is_empty = found.char_starts == found.char_ends
  char_starts = tf.where(is_empty, new_ends, new_starts)
  tokens = new_starts, new_ends, found.ids, char_starts, new_ends
  return FoundTokens(
    *(tf.boolean_mask(x, new_starts < new_ends) for x in tokens)
  )


def _hashes(texts):
  return tf.strings.to_hash_bucket_fast(texts, _BUCKETS)
