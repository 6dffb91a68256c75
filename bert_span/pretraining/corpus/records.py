"""Masked sequences as TFRecords, for accelerators without Python beside them.

A record holds the features of the original's create_pretraining_data, without
the pair task, and the targets of the span boundary objective:

  input_ids, input_mask, segment_ids                       [max_seq_length]
  masked_lm_positions, masked_lm_ids, masked_lm_weights    [max_predictions]
  sbo_lefts, sbo_rights, sbo_positions                     [max_predictions]

The masks are in the records: several copies of the text, each masked anew,
stand for as many epochs.
"""

import contextlib
import os

import numpy as np
import tensorflow as tf

from bert_span.pretraining.corpus.batches import KEYS, masked_arrays
from bert_span.storage.record_files import (
  open_records,
  serialized_example,
  serialized_records,
)

# Key of a batch -> feature of a record.
_FEATURES = {
  **{key: key for key in KEYS},
  "masked_positions": "masked_lm_positions",
  "masked_ids": "masked_lm_ids",
}


def write_records(paths, sequences, max_seq_length, max_predictions, targets):
  """Writes masked sequences, to the files in turn.

  Args:
    paths: list of files to write, local or any path of tf.io.gfile; each is
      whole or not there; those that end with .gz are compressed.
    sequences: iterable of `MaskedSequence`.
    max_seq_length: WordPieces that every record gets.
    max_predictions: targets that every record gets.
    targets: tokens of a span that its boundaries predict.

  Returns:
    How many records were written.
  """
  number = 0
  with contextlib.ExitStack() as stack:
    writers = [stack.enter_context(open_records(path)) for path in paths]
    for number, masked in enumerate(sequences, 1):
      arrays = masked_arrays([masked], max_seq_length, max_predictions, targets)
      row = {key: values[0] for key, values in arrays.items()}
      writers[number % len(writers)].write(_serialized(row))
  return number


def _serialized(row):
  integers = {_FEATURES[key]: values for key, values in row.items()}
  integers["segment_ids"] = np.zeros_like(row["input_ids"])
  weights = (row["masked_positions"] > 0).astype(np.float32)
  return serialized_example(integers, {"masked_lm_weights": weights})


class RecordBatches:
  """Batches out of record files, made of TensorFlow ops only.

  Args:
    paths: list of record files.
    batch_size: sequences in a batch.
    max_seq_length: WordPieces that a record must have.
    max_predictions: targets that a record must have.
    seed: of the order of files and records.
    shuffle_records: records of the buffer that is drawn from.

  Raises:
    ValueError: the records were written with other lengths.
  """

  def __init__(
    self,
    paths,
    batch_size,
    max_seq_length,
    max_predictions,
    seed,
    shuffle_records=8192,
  ):
    self._paths = paths
    self._batch_size = batch_size
    self._lengths = (max_seq_length, max_predictions)
    self._seed = seed
    self._shuffle_records = shuffle_records
    for path in paths:
      _check_lengths(path, *self._lengths)

  def dataset(self, first_step):
    """The batches from one step on, a pure function of seed and step.

    Records before it are read over, not parsed.

    Args:
      first_step: number of the first batch, counted from 0.

    Returns:
      Endless tf.data.Dataset of the dicts of `masked_arrays`, as tensors.
    """
    epochs = tf.data.Dataset.counter(dtype=tf.int64)
    records = epochs.flat_map(self._epoch)
    records = records.skip(first_step * self._batch_size)
    batches = records.batch(self._batch_size, drop_remainder=True)
    return batches.map(self._parse).prefetch(tf.data.AUTOTUNE)

  def evaluation_dataset(self):
    """Every record once, in the order of the files; the last batch is short."""
    records = serialized_records(
      tf.data.Dataset.from_tensor_slices(self._paths)
    )
    return records.batch(self._batch_size).map(self._parse)

  def _epoch(self, epoch):
    """The serialized records of an epoch, shuffled."""
    seeds = tf.stack([tf.cast(self._seed, tf.int64), epoch])
    order = tf.random.experimental.stateless_shuffle(
      tf.constant(self._paths), seed=seeds
    )
    records = serialized_records(tf.data.Dataset.from_tensor_slices(order))
    # One number out of two: shuffle takes no pair.
    return records.shuffle(
      self._shuffle_records,
      seed=self._seed * 1_000_003 + epoch,
      reshuffle_each_iteration=False,
    )

  def _parse(self, serialized):
    features = {
      _FEATURES[key]: tf.io.FixedLenFeature(
        [self._lengths[0 if key in ("input_ids", "input_mask") else 1]],
        tf.int64,
      )
      for key in KEYS
    }
    parsed = tf.io.parse_example(serialized, features)
    # TPUs know int32 only.
    return {key: tf.cast(parsed[_FEATURES[key]], tf.int32) for key in KEYS}


def _check_lengths(path, max_seq_length, max_predictions):
  """Refuses records of other lengths, of which TensorFlow says little."""
  first = next(
    iter(serialized_records(tf.data.Dataset.from_tensors(path))), None
  )
  if first is None:
    return
  features = tf.train.Example.FromString(first.numpy()).features.feature
  expected = {
    "input_ids": ("--max_seq_length", max_seq_length),
    "sbo_positions": ("--max_predictions", max_predictions),
  }
  for name, (flag, length) in expected.items():
    if name not in features:
      raise ValueError(
        f"{os.fspath(path)} has records without {name!r}. Write them with "
        "bert_span.create_pretraining_data."
      )
    found = len(features[name].int64_list.value)
    if found != length:
      raise ValueError(
        f"{os.fspath(path)} was written with {flag}={found}, but {flag} is "
        f"{length} now. Give the same number."
      )
