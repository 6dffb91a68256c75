"""What a model is fine-tuned on: labelled windows and where they come from."""

import dataclasses

from bert_span.data.bio_windows import make_bio_windows
from bert_span.data.packed_windows import LeftOut, PackedWindows
from bert_span.data.span_windows import make_training_windows
from bert_span.presets.headed_model import BIO


@dataclasses.dataclass(frozen=True)
class TrainingSet:
  """Labelled windows.

  Attributes:
    windows: `TrainingWindows`, or `BioWindows` for a B/I/O head.
    num_examples: questions they were made of, which steps are counted from.
    left_out: `LeftOut`, what is not trained on.
  """

  windows: PackedWindows
  num_examples: int
  left_out: LeftOut


def make_training_set(
  examples,
  preprocessor,
  head,
  annotator_labels,
  drop_answerless,
  may_be_empty=False,
):
  """Makes the windows of questions, labelled for a head.

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: `SpanPreprocessor`.
    head: "span" or "bio".
    annotator_labels: see `tag_labels`; of no account for "span".
    drop_answerless: leave out windows of answerable questions that do not
      hold the answer.
    may_be_empty: take examples without any window to train on.

  Returns:
    `TrainingSet`.

  Raises:
    ValueError: there is no window to train on.
  """
  if head == BIO:
    windows, left_out = make_bio_windows(
      examples, preprocessor, annotator_labels, drop_answerless, may_be_empty
    )
  else:
    windows, left_out = make_training_windows(
      examples, preprocessor, drop_answerless, may_be_empty
    )
  return TrainingSet(windows, len(examples), left_out)


def left_out_lines(left_out):
  """Tells people what is not trained on.

  Args:
    left_out: `LeftOut`.

  Yields:
    Lines of text; none where nothing is left out.
  """
  if left_out.num_answerless:
    yield (
      f"{left_out.num_answerless} windows left out that do not hold the answer "
      "to their question (--drop_answerless_windows)."
    )
  if left_out.without_token:
    named = ", ".join(left_out.without_token[:3])
    yield (
      f"{len(left_out.without_token)} questions left out, since their answers "
      f"have no WordPiece in the passage (first: {named}). Correct or remove "
      "them."
    )
