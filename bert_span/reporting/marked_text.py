"""A passage cut where the annotators' and the model's answers begin and end."""

import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class Segment:
  """A stretch of a passage that is marked alike, or one that is left out.

  Attributes:
    text: its characters; "" where it is left out.
    is_gold: whether annotators' answers cover it.
    is_predicted: whether the prediction covers it.
    left_out: characters that are not shown, 0 for a stretch that is.
  """

  text: str
  is_gold: bool = False
  is_predicted: bool = False
  left_out: int = 0

  @property
  def is_marked(self):
    """Whether any answer covers it."""
    return self.is_gold or self.is_predicted


def marked_segments(context, gold, predicted, num_characters=500):
  """Cuts a passage at its answers, and leaves out what is far from them.

    marked_segments("One two three.", [(4, 7)], [(4, 13)])
    # "One ", gold and predicted "two", predicted " three", "."

  Args:
    context: the passage.
    gold: list of (char_start, char_end), half-open, in any order; they may
      overlap.
    predicted: list of the same.
    num_characters: how much of the passage is kept before and after each
      answer, and of either end of an answer longer than twice that; an eighth
      more where nothing else is left.

  Returns:
    List of `Segment` whose texts and left_out make up the passage.
  """
  segments = _segments(context, gold, predicted)
  last = len(segments) - 1
  shown = []
  for index, segment in enumerate(segments):
    is_inner = segment.is_marked or last == 0
    head = num_characters if index > 0 or is_inner else 0
    tail = num_characters if index < last or is_inner else 0
    shown += _shortened(segment, head, tail)
  return shown


def _segments(context, gold, predicted):
  """The passage in stretches, neighbours marked differently."""
  offsets = {0, len(context)}
  for span in (*gold, *predicted):
    offsets.update(span)
  pieces = [
    (context[start:end], _covers(gold, start), _covers(predicted, start))
    for start, end in itertools.pairwise(sorted(offsets))
  ]
  return [
    Segment("".join(text for text, _, _ in group), *marks)
    for marks, group in itertools.groupby(pieces, key=lambda p: p[1:])
  ]


def _covers(spans, offset):
  return any(start <= offset < end for start, end in spans)


def _shortened(segment, head, tail):
  """The segment with its middle left out, if it is longer than both ends."""
  left_out = len(segment.text) - head - tail
  if left_out <= (head + tail) // 8:  # Not worth a note.
    return [segment]
  before = dataclasses.replace(segment, text=segment.text[:head])
  gap = dataclasses.replace(segment, text="", left_out=left_out)
  after = dataclasses.replace(segment, text=segment.text[head + left_out :])
  return [part for part in (before, gap, after) if part.text or part.left_out]
