"""What the windows of a head are labelled with; the labels of a span head."""

import dataclasses
from collections.abc import Callable

from bert_span.text.answer_positions import NO_TOKEN


@dataclasses.dataclass(frozen=True, eq=False)
class WindowLabels:
  """The labels that a head is trained on.

  Attributes:
    head: name of the head, which is saved with records.
    window_labels: names of the labels that are int32 [windows].
    token_labels: dict of name to number of values, of the labels that are
      float32 [windows, seq_length, values].
    label: function of a list of `SquadExample`, all their windows (a dict of
      arrays, see `SlidingWindows`) and annotator_labels. Returns the dict of
      labels, and bool [windows], False if the answer has no token.
    has_answer: function of `PackedWindows` that returns bool [windows], whether
      a window contains a part of an answer.
    is_answerable: function of a `SquadExample`.
    every_annotator: train on all annotators; otherwise on the first answer,
      which the preprocessor locates in the windows.
  """

  head: str
  window_labels: tuple[str, ...]
  token_labels: dict[str, int]
  label: Callable
  has_answer: Callable
  is_answerable: Callable
  every_annotator: bool

  @property
  def names(self):
    """Names of all labels, those of windows first."""
    return (*self.window_labels, *self.token_labels)


_POSITIONS = ("start_positions", "end_positions")


def _label_spans(examples, windows, annotator_labels):
  del examples, annotator_labels  # The preprocessor has located the answers.
  labels = {name: windows[name] for name in _POSITIONS}
  return labels, windows["end_positions"] != NO_TOKEN


# start_positions, end_positions: see `AnswerPositions`.
SPAN_LABELS = WindowLabels(
  head="span",
  window_labels=_POSITIONS,
  token_labels={},
  label=_label_spans,
  has_answer=lambda windows: windows.labels["end_positions"] > 0,
  is_answerable=lambda example: (
    bool(example.answers) and not example.is_impossible
  ),
  every_annotator=False,
)
