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

from bert_span.data.packed_windows import PackedWindows, row_splits
from bert_span.storage.record_files import (
  READ_BYTES,
  open_records,
  serialized_example,
)

_TOKEN_FEATURES = ("input_ids", "input_mask", "segment_ids")
_IDS = "unique_ids"
_FIRST_ID = 1_000_000_000  # As run_squad.
# Records that one call lays out or parses: enough to spread its cost.
_RECORDS_PER_BATCH = 512


def write_window_records(paths, windows, padded_length=None, first_window=0):
  """Writes windows, an equal share to each file, in order.

  Args:
    paths: list of files to write, local or any path of tf.io.gfile; each is
      whole or not there.
    windows: `PackedWindows`.
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


def read_window_records(paths, counts, labels):
  """Reads what `write_window_records` wrote.

  Args:
    paths: list of its files, in order.
    counts: list of int, how many records each must hold.
    labels: `WindowLabels` that they were written with.

  Returns:
    `PackedWindows`, in the order of writing.

  Raises:
    ValueError: a file is missing, damaged or of another length.
  """
  parts = []
  for path, count in zip(paths, counts, strict=True):
    try:
      batches = list(_batches(path, labels))
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
  return _windows(joined, labels)


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
      yield _serialized(batch, row, padded_length or length, windows.scheme)


def _serialized(batch, row, length, labels):
  """The record of one window of a batch, cut to a length."""
  integers = {name: batch[name][row, :length] for name in _TOKEN_FEATURES}
  for name in (_IDS, *labels.window_labels):
    integers[name] = [batch[name][row]]
  floats = {
    name: batch[name][row, :length].ravel() for name in labels.token_labels
  }
  return serialized_example(integers, floats)


def _batches(path, labels):
  """Yields dicts of arrays, some records at a time, without padding."""
  features = {name: tf.io.RaggedFeature(tf.int64) for name in _TOKEN_FEATURES}
  for name in labels.window_labels:
    features[name] = tf.io.FixedLenFeature([], tf.int64)
  for name in labels.token_labels:
    features[name] = tf.io.RaggedFeature(tf.float32)
  dataset = tf.data.TFRecordDataset(path, buffer_size=READ_BYTES)
  dataset = dataset.batch(_RECORDS_PER_BATCH)
  dataset = dataset.map(
    lambda records: _without_padding(
      tf.io.parse_example(records, features), labels
    ),
    num_parallel_calls=tf.data.AUTOTUNE,
  )
  return dataset.prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


def _without_padding(parsed, labels):
  """Cuts the padding off; int32 as everywhere, since TPUs know no int64.

  Args:
    parsed: dict of tensors [records] and ragged tensors [records, WordPieces].
    labels: `WindowLabels`.

  Returns:
    Dict of tensors: token_ids [all tokens]; lengths and context_lengths
    [records], WordPieces and those of them in segment 1; the labels, [records]
    or [all tokens, values].
  """
  mask = parsed["input_mask"].flat_values > 0
  result = {
    "token_ids": tf.boolean_mask(parsed["input_ids"].flat_values, mask),
    "lengths": tf.reduce_sum(parsed["input_mask"], axis=1),
    "context_lengths": tf.reduce_sum(parsed["segment_ids"], axis=1),
    **{name: parsed[name] for name in labels.window_labels},
  }
  result = {name: tf.cast(value, tf.int32) for name, value in result.items()}
  for name, num_values in labels.token_labels.items():
    values = tf.reshape(parsed[name].flat_values, [-1, num_values])
    result[name] = tf.boolean_mask(values, mask)
  return result


def _joined(parts, name):
  return np.concatenate([part[name] for part in parts])


def _windows(joined, labels):
  return PackedWindows(
    joined["token_ids"],
    row_splits(joined["lengths"]),
    # A window is its question, segment 0, and its passage, segment 1.
    joined["lengths"] - joined["context_lengths"],
    {name: joined[name] for name in labels.names},
    labels,
  )
