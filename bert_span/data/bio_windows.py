"""All windows of a training set with B/I/O labels, packed without padding."""

import dataclasses

import numpy as np

from bert_span.data.bio_labels import O, window_bio_labels
from bert_span.data.packed_windows import LeftOut, PackedWindows, row_splits
from bert_span.data.window_batches import window_batches


@dataclasses.dataclass(frozen=True)
class BioWindows(PackedWindows):
  """Windows with the labels of their tokens; 16 bytes a WordPiece.

  Attributes:
    tag_labels: float32 [all tokens, 3], shares of B, I and O; zero at tokens
      of question and at special tokens.
  """

  tag_labels: np.ndarray

  @property
  def num_answerless(self):
    """How many windows hold no part of an answer."""
    return int(np.sum(~self.has_answer))

  @property
  def has_answer(self):
    """Bool [windows], whether an annotator marked a token of the window."""
    marked = np.any(self.tag_labels[:, :O] > 0, axis=1).astype(np.int64)
    return np.add.reduceat(marked, self.row_splits[:-1]) > 0

  def select(self, keep):
    """The windows at which `keep`, bool [windows], is True."""
    token_keep = np.repeat(keep, self.lengths)
    return BioWindows(
      self.token_ids[token_keep],
      row_splits(self.lengths[keep]),
      self.first_context_positions[keep],
      self.tag_labels[token_keep],
    )

  def batch(self, indices, seq_length):
    """Pads some windows to one length.

    Args:
      indices: int [batch], which windows.
      seq_length: WordPieces to pad to, at least those of the longest.

    Returns:
      Dict of arrays: input_ids, input_mask, segment_ids int32 [batch,
      seq_length], tag_labels float32 [batch, seq_length, 3], all zero where
      there is no token of the passage.
    """
    token, mask = self.padded_positions(indices, seq_length)
    return {
      **self.inputs(indices, seq_length),
      "tag_labels": self.tag_labels[token] * mask[..., np.newaxis],
    }


def make_bio_windows(
  examples,
  preprocessor,
  annotator_labels="soft",
  drop_answerless=False,
  may_be_empty=False,
):
  """Converts training examples to windows with B/I/O labels.

  Args:
    examples: sequence of `SquadExample`.
    preprocessor: `SpanPreprocessor`.
    annotator_labels: see `tag_labels`.
    drop_answerless: leave out windows of answerable questions that hold no
      part of an answer.
    may_be_empty: take examples without any window to train on: they are a part
      of a whole that has some.

  Returns:
    `BioWindows`, in the order of `examples`, and what was `LeftOut`.

  Raises:
    ValueError: there is no window to train on.
  """
  parts, indices, labelled = [], [], []
  first = 0
  for batch, windows in window_batches(examples, preprocessor):
    labels, is_labelled = window_bio_labels(batch, windows, annotator_labels)
    parts.append(_pack(windows, labels))
    indices.append(first + windows["example_index"])
    labelled.append(is_labelled)
    first += len(batch)
  windows = _concatenate(parts)
  indices, has_label = np.concatenate(indices), np.concatenate(labelled)
  keep = has_label
  if drop_answerless and len(windows):
    is_answerable = np.array([any(e.annotators) for e in examples])[indices]
    keep = has_label & (windows.has_answer | ~is_answerable)
  if not (may_be_empty or keep.any()):
    raise ValueError(
      f"The {len(examples)} training examples give no window to train on: "
      "their passages are empty, or hold no answer. Check --train_file."
    )
  without_token = [examples[i].qas_id for i in np.unique(indices[~has_label])]
  left_out = LeftOut(int(np.sum(has_label & ~keep)), without_token)
  return windows.select(keep), left_out


def _pack(windows, labels):
  """Drops the padding of a dict of windows and of their labels."""
  mask = windows["input_mask"].astype(bool)
  return BioWindows(
    windows["input_ids"][mask],
    row_splits(mask.sum(axis=1)),
    windows["first_context_position"],
    labels[mask],
  )


def _concatenate(parts):
  return BioWindows(
    np.concatenate([part.token_ids for part in parts]),
    row_splits(np.concatenate([part.lengths for part in parts])),
    np.concatenate([part.first_context_positions for part in parts]),
    np.concatenate([part.tag_labels for part in parts]),
  )
