"""Sentences: found in documents, packed into sequences.

Sentences only decide where a training sequence may start and end. So a wrong
end at an abbreviation does no harm, and a missed one little.
"""

import itertools
import re

import numpy as np

from bert_span.pretraining.masking.masked_sequence import word_starts

_SENTENCE_END = re.compile(
  # A line break,
  r"\s*\n\s*"
  # or marks with closing quotes, then white space and no lower-case letter,
  r"""|(?<=[.!?…])["'”’»)\]]*\s+(?=["'“‘«(\[]*[^\W_])(?![^\w]*[a-zß-öø-ÿ])"""
  # or the full stops of Chinese and Japanese, which no space follows.
  r"|(?<=[。！？])[”’」』）]*"
)


def split_sentences(document):
  """Splits a document at the ends of its sentences, in any language.

  Example: 'He came at 5 p.m. on Monday. "Why?" Nobody knew.' gives
  'He came at 5 p.m. on Monday.', '"Why?"', 'Nobody knew.' Only white space is
  lost.
  """
  matches = _SENTENCE_END.finditer(document)
  ends = [0, *(match.end() for match in matches), len(document)]
  parts = [
    document[start:end].strip() for start, end in itertools.pairwise(ends)
  ]
  return [part for part in parts if part]


class SentencePacker:
  """Fills sequences with consecutive whole sentences of one document.

  With room for 6 tokens, sentences of 3, 2, 4 and 8 tokens become

      a a a b b | c c c c | d d d d d d | d d

  The sequence of "a" and "b" ends because "c" does not fit. "d" is longer than
  the room, so it starts a new sequence and is split between words. The next
  sentences of the document join its rest.

  Args:
    room: tokens that a sequence holds, special tokens not counted.
    continues: bool [vocab], see `continuation_table`.
  """

  def __init__(self, room, continues):
    if room < 1:
      raise ValueError(
        f"A sequence must have room for a token. Received: room={room}"
      )
    self._room = room
    self._continues = continues
    self._sentences = []
    self._length = 0

  def add(self, token_ids):
    """Adds the next sentence; returns the list of sequences this completes."""
    complete = []
    if self._length + len(token_ids) > self._room:
      complete = self.end_document()
    while len(token_ids) > self._room:
      starts = word_starts(token_ids[: self._room + 1], self._continues)
      # A word longer than the room is split as well.
      end = int(starts[-1]) or self._room
      complete.append(token_ids[:end])
      token_ids = token_ids[end:]
    if len(token_ids):
      self._sentences.append(token_ids)
      self._length += len(token_ids)
    return complete

  def end_document(self):
    """Completes the current sequence: a list of one, or of none."""
    sentences, self._sentences, self._length = self._sentences, [], 0
    return [np.concatenate(sentences)] if sentences else []
