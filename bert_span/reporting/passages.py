"""Marks answers in passages, for the page and for the terminal."""

import itertools
import re
from typing import NamedTuple

from bert_span.squad.example import NOT_LOCATED

# Terminals obey control characters, and HTML has no references for them.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Segment(NamedTuple):
  """Consecutive characters of a passage, or the number of omitted ones."""

  text: str
  mark: str = ""  # "", "annotators", "model" or "both"
  left_out: int = 0  # characters


def result_segments(result):
  """Returns the `Segment`s of a `QuestionResult`'s passage."""
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

  Spans are half-open and may overlap. num_characters are kept before and after
  each answer, and at both ends of an answer longer than twice that.
  """
  offsets = {0, len(context)}.union(*gold, *predicted)
  pieces = []
  for start, end in itertools.pairwise(sorted(offsets)):
    is_gold, is_predicted = (
      any(span_start <= start < span_end for span_start, span_end in spans)
      for spans in (gold, predicted)
    )
    mark = (("", "model"), ("annotators", "both"))[is_gold][is_predicted]
    pieces.append((context[start:end], mark))
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
    shown += _without_middle(segment, head, tail)
  return shown


def _without_middle(segment, head, tail):
  """Omits the middle of a segment that is longer than head and tail."""
  text, mark, _ = segment
  if len(text) - head - tail <= (head + tail) // 8:
    return [segment]
  # It is cut between words, if a blank is near.
  start = text.rfind(" ", max(0, head - 30), head) + 1 or head
  end = text.find(" ", len(text) - tail, len(text) - tail + 30)
  end = len(text) - tail if end < 0 else end
  shown = (text[:start], 0), ("", end - start), (text[end:], 0)
  return [Segment(kept, mark, n) for kept, n in shown if kept or n]


def marked_passage(context, spans, marks=("[[", "]]"), num_characters=200):
  """Returns a passage with its answers marked, as text; see `marked_segments`.

  >>> marked_passage("One two three four five.", [(8, 13)], num_characters=6)
  '... two [[three]] four ...'
  """
  text = ""
  segments = marked_segments(context, spans, [], num_characters)
  for mark, group in itertools.groupby(segments, key=lambda s: s.mark):
    shown = "".join("..." if s.left_out else _plain(s.text) for s in group)
    text += f"{marks[0]}{shown}{marks[1]}" if mark else shown
  return text.strip()


def one_line(text):
  """Replaces white space with blanks, and control characters with U+FFFD."""
  return " ".join(_plain(text).split())


def _plain(text):
  return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
