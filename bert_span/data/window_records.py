"""Labelled training windows as TFRecords, and back, in the same order.

A record contains one window, with the feature names of run_squad's
train.tf_record:

  unique_ids                              scalar, counts the windows
  input_ids, input_mask, segment_ids      [WordPieces of the window]
  start_positions, end_positions          scalars, of a span head
  tag_labels                              [3 * WordPieces], of a B/I/O head

run_squad's input function reads the records of a span head if they are padded
to max_seq_length. Reading them here removes the padding.
"""

import numpy as np
import tensorflow as tf

from bert_span.data.labelled_windows import PackedWindows, row_splits
from bert_span.storage.record_files import (
  READ_BYTES,
  open_records,
  serialized_example,
)

_TOKEN_FEATURES = ("input_ids", "input_mask", "segment_ids")
_FIRST_ID = 1_000_000_000  # As run_squad.
# Records that one call writes or parses, to spread its overhead.
_RECORDS_PER_BATCH = 512
_WRITE_AGAIN = "Write the records again with bert_span.create_squad_records."


def write_window_records(paths, windows, padded_length=None):
  """Writes windows, an equal share to each file, in order.

  Args:
    paths: list of files to write, local or remote; each is written atomically.
    windows: `PackedWindows`.
    padded_length: WordPieces of every record; None adds no padding.

  Returns:
    List of int, the number of records of each file.
  """
  shares = np.array_split(np.arange(len(windows)), len(paths))
  for path, share in zip(paths, shares, strict=True):
    with open_records(path) as writer:
      for first in range(0, len(share), _RECORDS_PER_BATCH):
        indices = share[first : first + _RECORDS_PER_BATCH]
        for record in _records(windows, indices, padded_length):
          writer.write(record)
  return [len(share) for share in shares]


def read_window_records(paths, counts, labels):
  """Returns the `PackedWindows` in files of `write_window_records`.

  Raises:
    ValueError: a file is missing or damaged, or `counts` differ.
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
        f"{path} contains {found} records, but {count} were written. "
        f"{_WRITE_AGAIN}"
      )
    parts += batches
  if not parts:
    raise ValueError(f"The records {paths} contain no window. {_WRITE_AGAIN}")
  joined = {
    name: np.concatenate([part[name] for part in parts]) for name in parts[0]
  }
  context_lengths = joined["context_lengths"]
  if np.any((context_lengths < 1) | (context_lengths >= joined["lengths"])):
    raise ValueError(
      f"{paths[0]}, or a file beside it, contains a window without a passage. "
      f"{_WRITE_AGAIN}"
    )
  return PackedWindows(
    joined["token_ids"],
    row_splits(joined["lengths"]),
    # A window is its question, segment 0, and its passage, segment 1.
    joined["lengths"] - joined["context_lengths"],
    {name: joined[name] for name in labels.names},
    labels,
  )


def _records(windows, indices, padded_length):
  """Yields the serialized records of some windows."""
  lengths, labels = windows.lengths[indices], windows.scheme
  batch = windows.batch(indices, padded_length or int(lengths.max()))
  for row, length in enumerate(lengths):
    cut = slice(padded_length or length)
    yield serialized_example(
      {
        "unique_ids": [_FIRST_ID + indices[row]],
        **{name: batch[name][row, cut] for name in _TOKEN_FEATURES},
        **{name: [batch[name][row]] for name in labels.window_labels},
      },
      {name: batch[name][row, cut].ravel() for name in labels.token_labels},
    )


def _batches(path, labels):
  """Yields the windows of a file without padding, as dicts of arrays."""
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
  """Removes the padding of parsed records; int32, since TPUs have no int64."""
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
