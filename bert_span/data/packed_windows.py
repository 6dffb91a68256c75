"""Windows one after the other, packed without padding."""

import dataclasses
import hashlib
from typing import NamedTuple

import numpy as np


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
  """The tokens of many windows; each kind of labels adds its own.

  Attributes:
    token_ids: int32 [all tokens].
    row_splits: int64 [windows + 1], where each window's tokens begin.
    first_context_positions: int32 [windows], where segment 1 begins.
  """

  token_ids: np.ndarray
  row_splits: np.ndarray
  first_context_positions: np.ndarray

  def __len__(self):
    return len(self.first_context_positions)

  @property
  def lengths(self):
    """int64 [windows], WordPieces of each window."""
    return np.diff(self.row_splits)

  def digest(self):
    """SHA-256 of all tokens and labels, to tell data sets apart."""
    digest = hashlib.sha256()
    for field in dataclasses.fields(self):
      digest.update(np.ascontiguousarray(getattr(self, field.name)))
    return digest.hexdigest()

  def padded_positions(self, indices, seq_length):
    """Where the tokens of some windows, padded to one length, come from.

    Args:
      indices: int [batch], which windows.
      seq_length: WordPieces to pad to, at least those of the longest.

    Returns:
      token: int64 [batch, seq_length], index of all tokens, 0 at padding.
      mask: bool [batch, seq_length], False at padding.
    """
    positions = np.arange(seq_length)[np.newaxis]  # [1, seq_length]
    mask = positions < self.lengths[indices, np.newaxis]
    token = self.row_splits[indices, np.newaxis] + positions
    return np.where(mask, token, 0), mask

  def inputs(self, indices, seq_length):
    """What the model reads of some windows, padded to one length.

    Args:
      indices: int [batch], which windows.
      seq_length: WordPieces to pad to, at least those of the longest.

    Returns:
      Dict of int32 [batch, seq_length]: input_ids, input_mask, segment_ids.
    """
    token, mask = self.padded_positions(indices, seq_length)
    positions = np.arange(seq_length)[np.newaxis]  # [1, seq_length]
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
