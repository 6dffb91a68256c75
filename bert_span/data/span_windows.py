"""All labelled windows of a training set, packed without padding."""

import dataclasses

import numpy as np

from bert_span.data.packed_windows import LeftOut, PackedWindows, row_splits
from bert_span.data.window_batches import window_batches
from bert_span.text.answer_positions import NO_TOKEN


@dataclasses.dataclass(frozen=True)
class TrainingWindows(PackedWindows):
  """Labelled windows, one after the other.

  A window takes 4 bytes a WordPiece: SQuAD 1.1's 88,000 windows of 162
  WordPieces on average take 57 MB.

  Attributes:
    start_positions, end_positions: int32 [windows], inclusive; (0, 0) where
      the window does not hold the answer.
  """

  start_positions: np.ndarray
  end_positions: np.ndarray

  @property
  def num_answerless(self):
    """How many windows do not hold their question's answer."""
    return int(np.sum(self.end_positions == 0))

  def select(self, keep):
    """The windows at which `keep`, bool [windows], is True."""
    token_keep = np.repeat(keep, self.lengths)
    return TrainingWindows(
      self.token_ids[token_keep],
      row_splits(self.lengths[keep]),
      self.first_context_positions[keep],
      self.start_positions[keep],
      self.end_positions[keep],
    )

  def batch(self, indices, seq_length):
    """Pads some windows to one length.

    Args:
      indices: int [batch], which windows.
      seq_length: WordPieces to pad to, at least those of the longest.

    Returns:
      Dict of int32 arrays: input_ids, input_mask, segment_ids [batch,
      seq_length], start_positions, end_positions [batch].
    """
    return {
      **self.inputs(indices, seq_length),
      "start_positions": self.start_positions[indices],
      "end_positions": self.end_positions[indices],
    }


def make_training_windows(
  examples, preprocessor, drop_answerless=False, may_be_empty=False
):
  """Converts training examples to labelled windows.

  A question whose answer has no token (a lone zero-width space) is left out: it
  can teach neither a span nor that there is none.

  Args:
    examples: sequence of `SquadExample`; the first answer is trained on.
    preprocessor: `SpanPreprocessor`.
    drop_answerless: leave out windows of answerable questions that do not
      hold the answer; the original trains them as null answers.
    may_be_empty: take examples without any window to train on: they are a part
      of a whole that has some.

  Returns:
    `TrainingWindows`, in the order of `examples`, and what was `LeftOut`.

  Raises:
    ValueError: there is no window to train on.
  """
  parts, indices = [], []
  first = 0
  for batch, windows in window_batches(
    examples, preprocessor, with_answers=True
  ):
    parts.append(_pack(windows))
    indices.append(first + windows["example_index"])
    first += len(batch)
  windows, indices = _concatenate(parts), np.concatenate(indices)
  has_token = windows.end_positions != NO_TOKEN
  keep = has_token
  if drop_answerless:
    is_answerable = np.array([_is_answerable(e) for e in examples])[indices]
    keep = has_token & ((windows.end_positions > 0) | ~is_answerable)
  if not (may_be_empty or keep.any()):
    raise ValueError(
      f"The {len(examples)} training examples give no window to train on: "
      "their passages are empty, or hold no answer. Check --train_file."
    )
  without_token = [examples[i].qas_id for i in np.unique(indices[~has_token])]
  left_out = LeftOut(int(np.sum(has_token & ~keep)), without_token)
  return windows.select(keep), left_out


def _is_answerable(example):
  return bool(example.answers) and not example.is_impossible


def _pack(windows):
  """Drops the padding of a dict of windows."""
  mask = windows["input_mask"].astype(bool)
  return TrainingWindows(
    windows["input_ids"][mask],
    row_splits(mask.sum(axis=1)),
    windows["first_context_position"],
    windows["start_positions"],
    windows["end_positions"],
  )


def _concatenate(parts):
  return TrainingWindows(
    np.concatenate([part.token_ids for part in parts]),
    row_splits(np.concatenate([part.lengths for part in parts])),
    np.concatenate([part.first_context_positions for part in parts]),
    np.concatenate([part.start_positions for part in parts]),
    np.concatenate([part.end_positions for part in parts]),
  )
