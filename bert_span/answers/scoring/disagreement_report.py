"""Where annotators split, and what the model makes of it."""

import heapq

import numpy as np

from bert_span.answers.scoring.annotator_agreement import entropies


class DisagreementReport:
  """Keeps the questions whose annotators differ most.

  A question's split is the sum of the entropies of its tokens' labels, in
  nats: 0 where all annotators marked the same, ln 2 for every token that half
  of them take for one tag and half for another.

  Args:
    num_questions: how many questions to keep.
  """

  def __init__(self, num_questions):
    self._num_questions = num_questions
    self._kept = []  # a heap, the least split first
    self._num_seen = 0

  def add(self, passage):
    """Takes a passage.

    Args:
      passage: `TaggedPassage`.
    """
    split = float(np.sum(entropies(passage.labels)))
    self._num_seen += 1
    if split <= 0:
      return
    # The number keeps equal splits in order and is never the same.
    heapq.heappush(self._kept, (split, -self._num_seen, passage))
    if len(self._kept) > self._num_questions:
      heapq.heappop(self._kept)

  def rows(self):
    """The questions kept, the most split first.

    Returns:
      List of dicts of JSON values: qas_id, question, split in nats, annotators
      (a list of texts each), and tokens: those that the annotators differ on,
      each with text, char_start, char_end, and the shares of B, I and O of the
      annotators and of the model.
    """
    kept = sorted(self._kept, key=lambda item: item[:2], reverse=True)
    return [_row(split, passage) for split, _, passage in kept]


def _row(split, passage):
  example = passage.example
  return {
    "qas_id": example.qas_id,
    "question": example.question,
    "split": split,
    "annotators": [
      [span.text for span in spans] for spans in example.annotators
    ],
    "tokens": [
      _token(passage, int(i))
      for i in np.flatnonzero(passage.labels.max(axis=1) < 1)
    ],
  }


def _token(passage, i):
  start, end = int(passage.char_starts[i]), int(passage.char_ends[i])
  return {
    "text": passage.example.context[start:end],
    "char_start": start,
    "char_end": end,
    "annotators": _shares(passage.labels[i]),
    "model": _shares(passage.probabilities[i]),
  }


def _shares(distribution):
  names = ("B", "I", "O")
  return {
    name: round(float(share), 4)
    for name, share in zip(names, distribution, strict=True)
  }
