"""Labelled windows, on which models are fine-tuned."""

import dataclasses
import hashlib
from typing import NamedTuple

import numpy as np

from bert_span.data.window_batches import labelled_batches

# A position outside every window: its one-hot vector is zero.
_OUTSIDE = -2


@dataclasses.dataclass(frozen=True)
class PackedWindows:
  """Labelled windows without padding: 57 MB for the 88,000 of SQuAD 1.1."""

  token_ids: np.ndarray  # int32 [all tokens]
  row_splits: np.ndarray  # int64 [windows + 1], starts of windows, and the end
  first_context_positions: np.ndarray  # int32 [windows], starts of segment 1
  labels: dict[str, np.ndarray]  # [windows] or [all tokens, values]
  has_answer: np.ndarray  # bool [windows], True with a part of an answer

  def __len__(self):
    return len(self.first_context_positions)

  @property
  def lengths(self):
    """Number of WordPieces of each window, int64 [windows]."""
    return np.diff(self.row_splits)

  @property
  def num_without_answer(self):
    return int(np.sum(~self.has_answer))

  def digest(self):
    """Returns the SHA-256 of all tokens and labels, in hexadecimal."""
    digest = hashlib.sha256()
    arrays = (self.token_ids, self.row_splits, self.first_context_positions)
    for values in (*arrays, *self.labels.values()):
      digest.update(np.ascontiguousarray(values))
    return digest.hexdigest()

  def select(self, keep):
    """Returns the windows at which `keep`, bool [windows], is True."""
    token_keep = np.repeat(keep, self.lengths)
    labels = {
      name: values[keep if values.ndim == 1 else token_keep]
      for name, values in self.labels.items()
    }
    return PackedWindows(
      self.token_ids[token_keep],
      _row_splits(self.lengths[keep]),
      self.first_context_positions[keep],
      labels,
      self.has_answer[keep],
    )

  def batch(self, indices, seq_length):
    """Returns the windows at `indices`, padded to seq_length.

    They are a dict of token_ids, padding_mask and segment_ids, each int32
    [batch, seq_length], and of the labels, [batch] or [batch, seq_length,
    values]. Padding is 0, in labels too.
    """
    positions = np.arange(seq_length)[np.newaxis]  # [1, seq_length]
    mask = positions < self.lengths[indices, np.newaxis]
    token = self.row_splits[indices, np.newaxis] + positions
    token = np.where(mask, token, 0)  # [batch, seq_length]
    first_context = self.first_context_positions[indices, np.newaxis]
    arrays = {
      "token_ids": self.token_ids[token] * mask,
      "padding_mask": mask,
      "segment_ids": (positions >= first_context) & mask,
    }
    arrays = {name: array.astype(np.int32) for name, array in arrays.items()}
    for name, values in self.labels.items():
      if values.ndim == 1:
        arrays[name] = values[indices]
      else:
        arrays[name] = values[token] * mask[..., np.newaxis]
    return arrays


class Skipped(NamedTuple):
  """Windows and questions that are not trained on."""

  # Windows without the answer, of answerable questions, if they are dropped.
  num_without_answer: int
  without_token: list  # ids of questions whose answer has no token

  def lines(self):
    """Yields a line of text for skipped windows, and one for questions."""
    if self.num_without_answer:
      yield (
        f"Skipped {self.num_without_answer} windows without the answer to "
        "their question (drop_answerless_windows)."
      )
    if self.without_token:
      first_ids = ", ".join(self.without_token[:3])
      yield (
        f"Skipped {len(self.without_token)} questions whose answers have no "
        f"WordPiece in the passage (first: {first_ids}). Correct or remove "
        "them."
      )


class LabelledWindows(NamedTuple):
  """The labelled windows of a training set."""

  windows: PackedWindows
  num_examples: int  # questions; they determine the number of steps
  skipped: Skipped


def label_windows(
  examples,
  preprocessor,
  annotator_labels="soft",
  drop_without_answer=False,
  keep_unlabelled=False,
):
  """Labels the windows of examples.

  Questions whose answer has no token (a lone zero-width space) are skipped:
  they show neither a span nor an unanswerable question.

  Args:
    examples: `SquadExample`s.
    preprocessor: a `SpanPreprocessor`.
    annotator_labels: see `tag_labels`; span heads ignore it.
    drop_without_answer: skip windows without the answer, of answerable
      questions; run_squad trains on them as unanswerable.
    keep_unlabelled: keep questions with neither an answer nor is_impossible,
      for teachers to label. Their own labels add nothing to the loss.

  Returns:
    `LabelledWindows`.

  Raises:
    ValueError: no window is left.
  """
  batches, indices, keep = [], [], []
  first = 0
  for batch, windows, labels, can_train in labelled_batches(
    examples, preprocessor, annotator_labels
  ):
    example_index = windows["example_index"]
    if keep_unlabelled:
      is_unlabelled = np.array([e.is_unlabelled for e in batch])[example_index]
      can_train = can_train | is_unlabelled
      # Labels that add nothing to the loss; labels of tokens are 0 already.
      for name in preprocessor.window_labels:
        labels[name] = np.where(is_unlabelled, _OUTSIDE, labels[name])
    mask = windows["padding_mask"].astype(bool)
    arrays = {
      "token_ids": windows["token_ids"][mask],
      "lengths": mask.sum(axis=1),
      "first_context_positions": windows["first_context_position"],
    }
    for name, values in labels.items():
      arrays[name] = values if values.ndim == 1 else values[mask]
    batches.append(arrays)
    indices.append(first + example_index)
    keep.append(can_train)
    first += len(batch)
  joined = {
    name: np.concatenate([arrays[name] for arrays in batches])
    for name in batches[0]
  }
  labels = {name: joined[name] for name in preprocessor.label_names()}
  row_splits = _row_splits(joined["lengths"])
  windows = PackedWindows(
    joined["token_ids"],
    row_splits,
    joined["first_context_positions"],
    labels,
    preprocessor.windows_with_answer(labels, row_splits),
  )
  indices, keep = np.concatenate(indices), np.concatenate(keep)
  without_token = [examples[i].qas_id for i in np.unique(indices[~keep])]
  num_trainable = int(keep.sum())
  if drop_without_answer:
    answerable = [preprocessor.has_answer_to_learn(x) for x in examples]
    keep = keep & (windows.has_answer | ~np.array(answerable, bool)[indices])
  if not keep.any():
    raise ValueError(
      f"The {len(examples)} training examples give no window to train on: "
      "their passages are empty, or contain no answer. Check train_file."
    )
  skipped = Skipped(num_trainable - int(keep.sum()), without_token)
  return LabelledWindows(windows.select(keep), len(examples), skipped)


def _row_splits(lengths):
  """Returns the starts of rows, and the end of the last: int64 [rows + 1]."""
  return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
