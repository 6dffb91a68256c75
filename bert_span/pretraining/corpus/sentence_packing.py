"""Packs the sentences of a document into sequences.

With room for 6 tokens, sentences of 3, 2, 4 and 8 tokens become

    a a a b b | c c c c | d d d d d d | d d

The sequence of "a" and "b" ends where "c" does not fit. "d" is longer than the
room: it begins a sequence of its own and is split, and what follows it in the
document joins its rest.
"""

import numpy as np

from bert_span.pretraining.masking.whole_words import word_starts


class SentencePacker:
  """Fills sequences with consecutive whole sentences of one document.

  Args:
    room: tokens that a sequence holds, special tokens not counted.
    continues: bool [vocab], `whole_words.continuation_table`; a sentence
      longer than the room is split between words.

  Raises:
    ValueError: there is no room.
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
    """Takes the next sentence of the document.

    Args:
      token_ids: int32 [tokens].

    Returns:
      List of the sequences this completes, int32 [at most room] each.
    """
    complete = []
    if self._length + len(token_ids) > self._room:
      complete = self.end_document()
      *full, token_ids = self._split(token_ids)
      complete += full
    if len(token_ids):
      self._sentences.append(token_ids)
      self._length += len(token_ids)
    return complete

  def end_document(self):
    """Completes what is begun, for no sequence reaches over a document's end.

    Returns:
      List of one sequence, int32 [at most room], or of none.
    """
    sentences, self._sentences, self._length = self._sentences, [], 0
    return [np.concatenate(sentences)] if sentences else []

  def _split(self, token_ids):
    """Splits a sentence into parts that fit, between words where possible.

    Args:
      token_ids: int32 [tokens].

    Returns:
      List of at least one int32 [at most room].
    """
    parts = []
    while len(token_ids) > self._room:
      starts = word_starts(token_ids[: self._room + 1], self._continues)
      # A word longer than the room is split itself.
      end = int(starts[-1]) or self._room
      parts.append(token_ids[:end])
      token_ids = token_ids[end:]
    return [*parts, token_ids]
