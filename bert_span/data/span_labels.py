"""Where the answer of a question starts and ends in each of its windows."""

from bert_span.data.window_labels import WindowLabels
from bert_span.text.answer_positions import NO_TOKEN


def _label(examples, windows, annotator_labels):
  """The positions that the preprocessor located; see `WindowLabels`."""
  del examples, annotator_labels  # Only the first answer is trained on.
  names = ("start_positions", "end_positions")
  labels = {name: windows[name] for name in names}
  return labels, windows["end_positions"] != NO_TOKEN


def _has_answer(windows):
  return windows.labels["end_positions"] > 0


def _is_answerable(example):
  return bool(example.answers) and not example.is_impossible


# start_positions, end_positions: WordPieces of the window, inclusive; (0, 0)
# where the window does not hold the answer.
SPAN_LABELS = WindowLabels(
  head="span",
  window_labels=("start_positions", "end_positions"),
  token_labels={},
  label=_label,
  has_answer=_has_answer,
  is_answerable=_is_answerable,
  every_annotator=False,
)
