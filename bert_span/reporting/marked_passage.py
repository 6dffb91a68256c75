"""A passage cut where the annotators' and the model's answers begin and end."""

import itertools
from typing import NamedTuple

from bert_span.squad.answer_location import NOT_LOCATED


class Segment(NamedTuple):
  """A part of a passage, or the number of characters that are left out."""

  text: str
  mark: str = ""  # or "annotators", "model", "both"
  left_out: int = 0


def marked_passage(result):
  """The `Segment`s of a `QuestionResult`'s passage."""
  gold = [
    (answer.char_start, answer.char_start + len(answer.text))
    for answer in result.example.answers
    if answer.char_start != NOT_LOCATED
  ]
  predicted = [result.span] if result.span else []
  return marked_segments(result.example.context, gold, predicted)


def marked_segments(context, gold, predicted, num_characters=500):
  """Cuts a passage at its answers, and leaves out text far from them.

    marked_segments("One two three.", [(4, 7)], [(4, 13)])
    # "One ", "two" by both, " three" by the model, "."

  Args:
    context: the passage.
    gold: list of (char_start, char_end), half-open, in any order; they may
      overlap.
    predicted: list of the same.
    num_characters: how much to keep before and after each answer, and of
      either end of an answer longer than twice that. A rest of an eighth more
      is kept as well.

  Returns:
    List of `Segment`s whose texts and left_out make up the passage.
  """
  offsets = {0, len(context)}
  for span in (*gold, *predicted):
    offsets.update(span)
  pieces = [
    (context[start:end], _mark(gold, predicted, start))
    for start, end in itertools.pairwise(sorted(offsets))
  ]
  segments = [
    Segment("".join(text for text, _ in group), mark)
    for mark, group in itertools.groupby(pieces, key=lambda piece: piece[1])
  ]
  last = len(segments) - 1
  shown = []
  for index, segment in enumerate(segments):
    is_inner = bool(segment.mark) or last == 0
    head = num_characters if index > 0 or is_inner else 0
    tail = num_characters if index < last or is_inner else 0
    shown += _shortened(segment, head, tail)
  return shown


def _mark(gold, predicted, offset):
  is_gold, is_predicted = (
    any(start <= offset < end for start, end in spans)
    for spans in (gold, predicted)
  )
  if is_gold and is_predicted:
    return "both"
  return "annotators" if is_gold else "model" if is_predicted else ""


def _shortened(segment, head, tail):
  """The segment without its middle, if it is longer than head and tail."""
  text, mark, _ = segment
  if len(text) - head - tail <= (head + tail) // 8:
    return [segment]
  # Whole words, if there is a blank near.
  start = text.rfind(" ", max(0, head - 30), head) + 1 or head
  end = text.find(" ", len(text) - tail, len(text) - tail + 30)
  end = len(text) - tail if end < 0 else end
  parts = (
    Segment(text[:start], mark),
    Segment("", mark, end - start),
    Segment(text[end:], mark),
  )
  return [part for part in parts if part.text or part.left_out]
