"""What the windows of a head are labelled with."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True, eq=False)
class WindowLabels:
  """The labels that a head learns from.

  Attributes:
    head: name of the head, by which records say whom they are for.
    window_labels: names of the labels of a window, each int32 [windows].
    token_labels: dict of the name of a token's labels, each float32
      [windows, seq_length, values], to their number of values.
    label: function of a list of `SquadExample`, all their windows (a dict of
      arrays, see `SlidingWindows`) and annotator_labels. It gives the dict of
      the labels, and bool [windows], False where a question cannot be trained
      on, since its answer has no token.
    has_answer: function of `PackedWindows` to bool [windows], whether a window
      holds a part of an answer.
    is_answerable: function of a `SquadExample`.
    every_annotator: learn from all annotators; else from the first answer,
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
