"""Labelled windows one after the other, packed without padding."""

import dataclasses
import hashlib
from typing import NamedTuple

import numpy as np

from bert_span.data.window_labels import WindowLabels


class LeftOut(NamedTuple):
  """What is not trained on.

  Attributes:
    num_answerless: windows of answerable questions that do not hold the answer,
      left out because that was asked for.
    without_token: ids of questions whose answer has no token in its passage.
  """

  num_answerless: int
  without_token: list


@dataclasses.dataclass(frozen=True)
class PackedWindows:
  """Labelled windows, one after the other.

  A window takes 4 bytes a WordPiece: SQuAD 1.1's 88,000 windows of 162
  WordPieces on average take 57 MB. B/I/O labels take 12 bytes more.

  Attributes:
    token_ids: int32 [all tokens].
    row_splits: int64 [windows + 1], where each window's tokens begin.
    first_context_positions: int32 [windows], where segment 1 begins.
    labels: dict of arrays, [windows] or [all tokens, values], by name.
    scheme: `WindowLabels`, what the labels are.
  """

  token_ids: np.ndarray
  row_splits: np.ndarray
  first_context_positions: np.ndarray
  labels: dict[str, np.ndarray]
  scheme: WindowLabels

  def __len__(self):
    return len(self.first_context_positions)

  @property
  def lengths(self):
    """int64 [windows], WordPieces of each window."""
    return np.diff(self.row_splits)

  @property
  def has_answer(self):
    """Bool [windows], whether a window holds a part of an answer."""
    return self.scheme.has_answer(self) if len(self) else np.zeros([0], bool)

  @property
  def num_answerless(self):
    """How many windows hold no part of an answer."""
    return int(np.sum(~self.has_answer))

  def digest(self):
    """SHA-256 of all tokens and labels, to tell data sets apart."""
    digest = hashlib.sha256()
    for values in (
      self.token_ids,
      self.row_splits,
      self.first_context_positions,
      *self.labels.values(),
    ):
      digest.update(np.ascontiguousarray(values))
    return digest.hexdigest()

  def select(self, keep):
    """The windows at which `keep`, bool [windows], is True."""
    token_keep = np.repeat(keep, self.lengths)
    return PackedWindows(
      self.token_ids[token_keep],
      row_splits(self.lengths[keep]),
      self.first_context_positions[keep],
      {
        name: values[token_keep if name in self.scheme.token_labels else keep]
        for name, values in self.labels.items()
      },
      self.scheme,
    )

  def batch(self, indices, seq_length):
    """Pads some windows to one length.

    Args:
      indices: int [batch], which windows.
      seq_length: WordPieces to pad to, at least those of the longest.

    Returns:
      Dict of arrays: input_ids, input_mask, segment_ids int32 [batch,
      seq_length], and the labels, [batch] or [batch, seq_length, values], zero
      at padding.
    """
    token, mask = self._padded_positions(indices, seq_length)
    return {
      **self._inputs(indices, token, mask),
      **{
        name: values[token] * mask[..., np.newaxis]
        if name in self.scheme.token_labels
        else values[indices]
        for name, values in self.labels.items()
      },
    }

  def _padded_positions(self, indices, seq_length):
    """Token indices, int64 [batch, seq_length], and False at padding."""
    positions = np.arange(seq_length)[np.newaxis]  # [1, seq_length]
    mask = positions < self.lengths[indices, np.newaxis]
    token = self.row_splits[indices, np.newaxis] + positions
    return np.where(mask, token, 0), mask

  def _inputs(self, indices, token, mask):
    """What the model reads, int32 [batch, seq_length]."""
    positions = np.arange(mask.shape[1])[np.newaxis]  # [1, seq_length]
    first_context = self.first_context_positions[indices, np.newaxis]
    return {
      "input_ids": (self.token_ids[token] * mask).astype(np.int32),
      "input_mask": mask.astype(np.int32),
      "segment_ids": ((positions >= first_context) & mask).astype(np.int32),
    }


def row_splits(lengths):
  """Where rows of these lengths begin and the last one ends.

  Args:
    lengths: int [rows].

  Returns:
    int64 [rows + 1].
  """
  return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
