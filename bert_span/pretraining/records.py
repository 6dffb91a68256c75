"""Writes and reads masked sequences as TFRecords, for TPUs without Python.

A record has the features of the original's create_pretraining_data, without
the pair task, and the targets of the span boundary objective:

  input_ids, input_mask, segment_ids                       [max_seq_length]
  masked_lm_positions, masked_lm_ids, masked_lm_weights    [max_predictions]
  sbo_lefts, sbo_rights, sbo_positions                     [max_predictions]

Several copies of the text, each masked anew, replace as many epochs.
x.tfrecord.json has the number of records of x.tfrecord, so that a cut file is
noticed, and the values on which their ids depend.
"""

import contextlib

import numpy as np
import tensorflow as tf

from bert_span.pretraining.masking import SEQUENCE_KEYS
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import read_json_object
from bert_span.storage.log import log_line
from bert_span.storage.record_files import (
  open_records,
  serialized_example,
  serialized_records,
)

_ABOUT_ENDING = ".json"
_FORMAT_VERSION = 1
_WRITE_AGAIN = "Write it again with bert_span.create_pretraining_data."
# TensorFlow's errors for damaged bytes, too few records and other features.
_DAMAGE = (
  tf.errors.DataLossError,
  tf.errors.FailedPreconditionError,
  tf.errors.InvalidArgumentError,
)


def write_records(paths, sequences, pretraining_input):
  """Writes sequences to the files in turn; returns their number."""
  counts = [0] * len(paths)
  with contextlib.ExitStack() as stack:
    writers = [stack.enter_context(open_records(path)) for path in paths]
    for number, sequence in enumerate(sequences, 1):
      arrays = pretraining_input.arrays([sequence])
      row = {_feature(key): values[0] for key, values in arrays.items()}
      row["segment_ids"] = np.zeros_like(row["input_ids"])
      weights = np.float32(row["masked_lm_positions"] > 0)
      file = number % len(paths)
      writers[file].write(
        serialized_example(row, {"masked_lm_weights": weights})
      )
      counts[file] += 1
    # The counts are written before the records are renamed.
    tokens = pretraining_input.tokens_fingerprint()
    for path, count in zip(paths, counts, strict=True):
      about = {"format": _FORMAT_VERSION, "records": count, **tokens}
      write_json_atomically(f"{path}{_ABOUT_ENDING}", about)
  return sum(counts)


class RecordBatches:
  """Makes batches of a `PretrainingInput` of record files, `TextFile`s."""

  def __init__(self, pretraining_input, sources, batch_size):
    self._input = pretraining_input
    self._batch_size = batch_size
    self._lengths = pretraining_input.row_lengths
    self._paths = paths = [source.path for source in sources]
    tokens = pretraining_input.tokens_fingerprint()
    self._counts = counts = [_checked_count(path, tokens) for path in paths]
    if None in counts:
      self._counts = None
      log_line(
        f"{paths[counts.index(None)]} has no count of its records beside it "
        f"({_ABOUT_ENDING}), so nobody notices if it is cut off."
      )
    paths_of = {}  # first record -> path
    for path in paths:
      first = self._first_record(path)
      if first is not None and paths_of.setdefault(first, path) != path:
        raise ValueError(
          f"{path} begins with the record of {paths_of[first]}: one is a copy "
          f"of the other. Leave one out, or w{_WRITE_AGAIN[1:]}"
        )
    if not paths_of:
      raise ValueError(f"There are no records in {', '.join(paths[:3])}.")

  def dataset(self, first_step):
    """Returns endless batches of `PretrainingInput.arrays` from a step on."""
    records = tf.data.Dataset.counter(dtype=tf.int64).flat_map(self._epoch)
    records = records.skip(first_step * self._batch_size)
    batches = records.batch(self._batch_size, drop_remainder=True)
    # A fixed number, because the training loop turns TensorFlow's tuning off.
    return batches.map(self._parse).prefetch(8)

  def evaluation_batches(self):
    """Yields every record once, in the order of the files."""
    records = self._records(tf.range(len(self._paths)))
    try:
      yield from records.batch(self._batch_size).map(self._parse)
    except tf.errors.OpError as error:
      raise self.cause_of(error) from error

  def cause_of(self, error):
    """Returns an error that names the damaged file, or the error itself."""
    if not isinstance(error, _DAMAGE):
      return error
    for number, path in enumerate(self._paths):
      read = 0
      try:
        for batch in self._records([number]).batch(1024).map(self._parse):
          read += len(batch["input_ids"])
      except _DAMAGE as damage:
        return ValueError(
          f"{path} is damaged after some {read:,} records, incomplete, or no "
          f"file of records ({damage.message}). {_WRITE_AGAIN}"
        )
    return error

  def _epoch(self, epoch):
    """Returns the serialized records of an epoch, shuffled."""
    seed = self._input.masking.seed
    order = tf.random.experimental.stateless_shuffle(
      tf.range(len(self._paths)),
      seed=tf.stack([tf.cast(seed, tf.int64), epoch]),
    )
    # Shuffle takes one number as its seed.
    return self._records(order).shuffle(
      self._input.chunk_blocks,
      seed=seed * 1_000_003 + epoch,
      reshuffle_each_iteration=False,
    )

  def _records(self, order):
    """Returns the serialized records of files, by the files' numbers."""

    def records_of(number):
      path = tf.data.Dataset.from_tensors(tf.gather(self._paths, number))
      records = serialized_records(path)
      if self._counts is None:
        return records
      count = tf.gather(tf.constant(self._counts, tf.int64), number)
      return records.apply(tf.data.experimental.assert_cardinality(count))

    return tf.data.Dataset.from_tensor_slices(order).flat_map(records_of)

  def _parse(self, serialized):
    features = {
      _feature(key): tf.io.FixedLenFeature([length], tf.int64)
      for key, length in self._lengths.items()
    }
    parsed = tf.io.parse_example(serialized, features)
    # TPUs need int32.
    return {k: tf.cast(parsed[_feature(k)], tf.int32) for k in self._lengths}

  def _first_record(self, path):
    """Returns a file's first record in bytes, or None; checks its features."""
    records = serialized_records(tf.data.Dataset.from_tensors(path)).take(1)
    try:
      serialized = next(records.as_numpy_iterator(), None)
    except tf.errors.DataLossError as error:
      raise self.cause_of(error) from error
    if serialized is None:
      return None
    features = tf.train.Example.FromString(serialized).features.feature
    for key, expected in self._lengths.items():
      name = _feature(key)
      if name not in features:
        raise ValueError(f"{path} has records without {name!r}. {_WRITE_AGAIN}")
      values = features[name].int64_list.value
      size = len(self._input.vocabulary)
      if key == "input_ids" and max(values, default=0) >= size:
        raise ValueError(
          f"{path} has the id {max(values)}, and the vocabulary {size} tokens. "
          "Give the vocab_file that the records were written with."
        )
      length = len(values)
      if length != expected:
        is_sequence = key in SEQUENCE_KEYS
        name = "max_seq_length" if is_sequence else "max_predictions"
        raise ValueError(
          f"{path} was written with {name}={length}, not {expected}. Give the "
          "same number."
        )
    return serialized


def _feature(key):
  """Returns the original's name of a key, such as masked_lm_ids."""
  return key.replace("masked_", "masked_lm_")


def _checked_count(path, tokens):
  """Returns the number of records in a complete file; None if unknown.

  Refuses a file with another `PretrainingInput.tokens_fingerprint`.
  """
  path = f"{path}{_ABOUT_ENDING}"
  if not tf.io.gfile.exists(path):
    return None
  about = read_json_object(path)
  if about.get("format") != _FORMAT_VERSION:
    raise ValueError(
      f"{path}: the records must be of format {_FORMAT_VERSION}. Received: "
      f"{about.get('format')!r}. {_WRITE_AGAIN}"
    )
  count = about.get("records")
  if not isinstance(count, int):
    raise ValueError(
      f"{path} must have the number of records. Received: {count!r}. Remove it."
    )
  changed = [name for name in tokens if about.get(name) != tokens[name]]
  if changed:
    raise ValueError(
      f"{path}: the records were written with another {' and '.join(changed)}. "
      "Give the same vocab_file and do_lower_case."
    )
  return count
