"""What a model is fine-tuned on: questions become labelled windows."""

import dataclasses

import numpy as np

from bert_span.data.packed_windows import LeftOut, PackedWindows, row_splits
from bert_span.data.window_batches import window_batches

# A position that no window has; its one-hot vector is zero.
OUTSIDE = -2


@dataclasses.dataclass(frozen=True)
class TrainingSet:
  """Labelled windows.

  Attributes:
    windows: `PackedWindows`.
    num_examples: questions they were made of, which steps are counted from.
    left_out: `LeftOut`, what is not trained on.
  """

  windows: PackedWindows
  num_examples: int
  left_out: LeftOut


def make_training_set(
  examples,
  preprocessor,
  labels,
  annotator_labels="soft",
  drop_answerless=False,
  may_be_empty=False,
  keep_unlabelled=False,
):
  """Makes the windows of questions, labelled for a head.

  A question whose answer has no token (a lone zero-width space) is left out: it
  can teach neither a span nor that there is none.

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: `SpanPreprocessor`.
    labels: `WindowLabels` of the head.
    annotator_labels: see `tag_labels`; of no account for a span head.
    drop_answerless: leave out windows of answerable questions that do not hold
      the answer; the original trains them as null answers.
    may_be_empty: take examples without any window to train on: they are a part
      of a whole that has some.
    keep_unlabelled: keep the windows of questions that have no answer and are
      not is_impossible, with labels that count nothing in any loss: for
      teachers to label.

  Returns:
    `TrainingSet`, its windows in the order of `examples`.

  Raises:
    ValueError: there is no window to train on.
  """
  parts, indices, trainable = [], [], []
  first = 0
  for batch, windows in window_batches(
    examples, preprocessor, with_answers=not labels.every_annotator
  ):
    values, can_train = labels.label(batch, windows, annotator_labels)
    if keep_unlabelled:
      is_unlabelled = np.array([example.is_unlabelled for example in batch])
      is_unlabelled = is_unlabelled[windows["example_index"]]
      values = _without_labels(values, is_unlabelled, labels)
      can_train = can_train | is_unlabelled
    parts.append(_without_padding(windows, values, labels))
    indices.append(first + windows["example_index"])
    trainable.append(can_train)
    first += len(batch)
  windows = _concatenated(parts, labels)
  indices, can_train = np.concatenate(indices), np.concatenate(trainable)
  keep = can_train
  if drop_answerless:
    answerable = np.array([labels.is_answerable(e) for e in examples], bool)
    keep = can_train & (windows.has_answer | ~answerable[indices])
  if not (may_be_empty or keep.any()):
    raise ValueError(
      f"The {len(examples)} training examples give no window to train on: "
      "their passages are empty, or hold no answer. Check --train_file."
    )
  without_token = [examples[i].qas_id for i in np.unique(indices[~can_train])]
  left_out = LeftOut(int(np.sum(can_train & ~keep)), without_token)
  return TrainingSet(windows.select(keep), len(examples), left_out)


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


def _without_padding(windows, values, labels):
  """`PackedWindows` of a dict of windows and the dict of their labels."""
  mask = windows["input_mask"].astype(bool)
  return PackedWindows(
    windows["input_ids"][mask],
    row_splits(mask.sum(axis=1)),
    windows["first_context_position"],
    {
      name: array[mask] if name in labels.token_labels else array
      for name, array in values.items()
    },
    labels,
  )


def _without_labels(values, is_unlabelled, labels):
  """The labels with some windows' such that they count nothing in a loss."""
  return {
    name: np.where(
      is_unlabelled.reshape(-1, *[1] * (array.ndim - 1)),
      0 if name in labels.token_labels else OUTSIDE,
      array,
    ).astype(array.dtype)
    for name, array in values.items()
  }


def _concatenated(parts, labels):
  return PackedWindows(
    np.concatenate([part.token_ids for part in parts]),
    row_splits(np.concatenate([part.lengths for part in parts])),
    np.concatenate([part.first_context_positions for part in parts]),
    {
      name: np.concatenate([part.labels[name] for part in parts])
      for name in labels.names
    },
    labels,
  )
