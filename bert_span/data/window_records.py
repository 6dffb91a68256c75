"""Labelled training windows as TFRecords, and back, in the same order.

A record holds one window under the names of the original's train.tf_record:

  unique_ids                              scalar, counts the windows
  input_ids, input_mask, segment_ids      [WordPieces of the window]
  start_positions, end_positions          scalars, of a span head
  tag_labels                              [3 * WordPieces], of a B/I/O head

Padded to max_seq_length the records of a span head are what the original's own
input function reads; here padding is cut off again, so that both forms train
alike.
"""

import numpy as np
import tensorflow as tf

from bert_span.data.bio_labels import NUM_TAGS
from bert_span.data.bio_windows import BioWindows
from bert_span.data.packed_windows import row_splits
from bert_span.data.span_windows import TrainingWindows
from bert_span.storage.record_files import (
  READ_BYTES,
  open_records,
  serialized_example,
)

_TOKEN_FEATURES = ("input_ids", "input_mask", "segment_ids")
_POSITIONS = ("start_positions", "end_positions")
_TAGS = "tag_labels"
_IDS = "unique_ids"
_FIRST_ID = 1_000_000_000  # As run_squad.
# Records that one call lays out or parses: enough to spread its cost.
_RECORDS_PER_BATCH = 512


def write_window_records(paths, windows, padded_length=None, first_window=0):
  """Writes windows, an equal share to each file, in order.

  Args:
    paths: list of files to write, local or any path of tf.io.gfile; each is
      whole or not there.
    windows: `TrainingWindows` or `BioWindows`.
    padded_length: WordPieces that every record gets; None adds no padding.
    first_window: number of the first one, from which unique_ids count.

  Returns:
    List of int, how many records each file holds.
  """
  shares = np.array_split(np.arange(len(windows)), len(paths))
  for path, share in zip(paths, shares, strict=True):
    with open_records(path) as writer:
      for record in _records(windows, share, padded_length, first_window):
        writer.write(record)
  return [len(share) for share in shares]


def read_window_records(paths, counts, has_tags):
  """Reads what `write_window_records` wrote.

  Args:
    paths: list of its files, in order.
    counts: list of int, how many records each must hold.
    has_tags: whether they are windows of a B/I/O head.

  Returns:
    `TrainingWindows` or `BioWindows`, in the order of writing.

  Raises:
    ValueError: a file is missing, damaged or of another length.
  """
  parts = []
  for path, count in zip(paths, counts, strict=True):
    try:
      batches = list(_batches(path, has_tags))
    except tf.errors.OpError as error:
      raise ValueError(
        f"{path} cannot be read ({error.message}). {_WRITE_AGAIN}"
      ) from error
    found = sum(len(batch["lengths"]) for batch in batches)
    if found != count:
      raise ValueError(
        f"{path} holds {found} records, but {count} were written. "
        f"{_WRITE_AGAIN}"
      )
    parts += batches
  joined = {name: _joined(parts, name) for name in parts[0]}
  return _windows(joined, has_tags)


_WRITE_AGAIN = "Write the records again with bert_span.create_squad_records."


def _records(windows, indices, padded_length, first_window):
  """Yields the serialized records of some windows."""
  lengths = windows.lengths[indices]
  for first in range(0, len(indices), _RECORDS_PER_BATCH):
    several = slice(first, first + _RECORDS_PER_BATCH)
    longest = padded_length or int(lengths[several].max())
    batch = windows.batch(indices[several], longest)
    batch[_IDS] = _FIRST_ID + first_window + indices[several]
    for row, length in enumerate(lengths[several]):
      yield _serialized(batch, row, padded_length or length)


def _serialized(batch, row, length):
  """The record of one window of a batch, cut to a length."""
  integers = {name: batch[name][row, :length] for name in _TOKEN_FEATURES}
  integers[_IDS] = [batch[_IDS][row]]
  if _TAGS in batch:
    labels = batch[_TAGS][row, :length].ravel()
    return serialized_example(integers, {_TAGS: labels})
  positions = {name: [batch[name][row]] for name in _POSITIONS}
  return serialized_example({**integers, **positions})


def _batches(path, has_tags):
  """Yields dicts of arrays, some records at a time, without padding."""
  features = {name: tf.io.RaggedFeature(tf.int64) for name in _TOKEN_FEATURES}
  if has_tags:
    features[_TAGS] = tf.io.RaggedFeature(tf.float32)
  else:
    features |= {
      name: tf.io.FixedLenFeature([], tf.int64) for name in _POSITIONS
    }

  dataset = tf.data.TFRecordDataset(path, buffer_size=READ_BYTES)
  dataset = dataset.batch(_RECORDS_PER_BATCH)
  dataset = dataset.map(
    lambda records: _without_padding(tf.io.parse_example(records, features)),
    num_parallel_calls=tf.data.AUTOTUNE,
  )
  return dataset.prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


def _without_padding(parsed):
  """Cuts the padding off; int32 as everywhere, since TPUs know no int64.

  Args:
    parsed: dict of tensors [records] and ragged tensors [records, WordPieces].

  Returns:
    Dict of tensors: token_ids [all tokens], tag_labels [all tokens, 3] or
    start_positions, end_positions [records]; lengths and context_lengths
    [records], WordPieces and those of them in segment 1.
  """
  mask = parsed["input_mask"].flat_values > 0
  result = {
    "token_ids": tf.boolean_mask(parsed["input_ids"].flat_values, mask),
    "lengths": tf.reduce_sum(parsed["input_mask"], axis=1),
    "context_lengths": tf.reduce_sum(parsed["segment_ids"], axis=1),
  }
  result |= {name: parsed[name] for name in _POSITIONS if name in parsed}
  result = {name: tf.cast(value, tf.int32) for name, value in result.items()}
  if _TAGS in parsed:
    labels = tf.reshape(parsed[_TAGS].flat_values, [-1, NUM_TAGS])
    result[_TAGS] = tf.boolean_mask(labels, mask)
  return result


def _joined(parts, name):
  return np.concatenate([part[name] for part in parts])


def _windows(joined, has_tags):
  tokens = {
    "token_ids": joined["token_ids"],
    "row_splits": row_splits(joined["lengths"]),
    # A window is its question, segment 0, and its passage, segment 1.
    "first_context_positions": joined["lengths"] - joined["context_lengths"],
  }
  if has_tags:
    return BioWindows(**tokens, tag_labels=joined[_TAGS])
  return TrainingWindows(**tokens, **{n: joined[n] for n in _POSITIONS})
