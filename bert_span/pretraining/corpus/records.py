"""Masked sequences as TFRecords, for accelerators without Python beside them.

A record holds the features of the original's create_pretraining_data, without
the pair task, and the targets of the span boundary objective:

  input_ids, input_mask, segment_ids                       [max_seq_length]
  masked_lm_positions, masked_lm_ids, masked_lm_weights    [max_predictions]
  sbo_lefts, sbo_rights, sbo_positions                     [max_predictions]

The masks are in the records. Several copies of the text, each masked anew,
replace as many epochs.
"""

import contextlib
import os

import numpy as np
import tensorflow as tf

from bert_span.pretraining.corpus.batches import masked_sequences
from bert_span.pretraining.corpus.block_stream import BlockStream
from bert_span.pretraining.corpus.text_sources import sources_of_worker
from bert_span.pretraining.masking.masked_arrays import (
  KEYS,
  masked_arrays,
  row_lengths,
)
from bert_span.pretraining.masking.masked_sequence import SequenceMasker
from bert_span.storage.record_files import (
  open_records,
  serialized_example,
  serialized_records,
)
from bert_span.text.tokenizer import WordPieceTokenizer

# Key of a batch -> feature of a record.
_FEATURES = {
  **{key: key for key in KEYS},
  "masked_positions": "masked_lm_positions",
  "masked_ids": "masked_lm_ids",
}


def masked_copies(
  sources,
  vocabulary,
  do_lower_case,
  max_seq_length,
  options,
  copies,
  num_workers=1,
  worker=0,
):
  """Yields the `MaskedSequence`s of a worker's part of some text.

  Args:
    sources: list of `TextFile` or `TfdsShard`, the same for every worker.
    vocabulary, do_lower_case: of the `WordPieceTokenizer`.
    max_seq_length: WordPieces in a sequence, [CLS] and [SEP] included.
    options: `MaskingOptions`.
    copies: of the text, each masked anew.
    num_workers, worker: the number of workers, and of this one, from 0.
  """
  own = sources_of_worker(sources, num_workers, worker)
  tokenizer = WordPieceTokenizer(vocabulary, do_lower_case)
  stream = BlockStream(own, tokenizer, max_seq_length)
  masker = SequenceMasker(vocabulary, options)
  for copy in range(copies):
    # Every worker draws other masks.
    yield from masked_sequences(stream, masker, copy * num_workers + worker)


def write_records(paths, sequences, max_seq_length, options):
  """Writes `MaskedSequence`s to record files in turn; returns their number."""
  number = 0
  with contextlib.ExitStack() as stack:
    writers = [stack.enter_context(open_records(path)) for path in paths]
    for number, masked in enumerate(sequences, 1):
      arrays = masked_arrays([masked], max_seq_length, options)
      row = {_FEATURES[key]: values[0] for key, values in arrays.items()}
      row["segment_ids"] = np.zeros_like(row["input_ids"])
      weights = (row["masked_lm_positions"] > 0).astype(np.float32)
      record = serialized_example(row, {"masked_lm_weights": weights})
      writers[number % len(writers)].write(record)
  return number


class RecordBatches:
  """Batches out of record files, made of TensorFlow ops only.

  Args:
    paths: list of record files.
    batch_size: sequences in a batch.
    max_seq_length, max_predictions: lengths that every record must have.
    seed: of the order of files and records.
    shuffle_records: records in the shuffle buffer.
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
    self._lengths = row_lengths(max_seq_length, max_predictions)
    self._seed = seed
    self._shuffle_records = shuffle_records
    for path in paths:
      self._check_lengths(path)

  def dataset(self, first_step):
    """The batches from one step on, a pure function of seed and step.

    Records before it are skipped without parsing. The endless tf.data.Dataset
    holds the dicts of `masked_arrays`, as tensors.
    """
    epochs = tf.data.Dataset.counter(dtype=tf.int64)
    records = epochs.flat_map(self._epoch)
    records = records.skip(first_step * self._batch_size)
    batches = records.batch(self._batch_size, drop_remainder=True)
    # A fixed number: the training loop turns TensorFlow's tuning off.
    return batches.map(self._parse).prefetch(8)

  def evaluation_dataset(self):
    """Every record once, in the order of the files; the last batch is short."""
    paths = tf.data.Dataset.from_tensor_slices(self._paths)
    records = serialized_records(paths)
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
      _FEATURES[key]: tf.io.FixedLenFeature([length], tf.int64)
      for key, length in self._lengths.items()
    }
    parsed = tf.io.parse_example(serialized, features)
    # TPUs know int32 only.
    return {key: tf.cast(parsed[_FEATURES[key]], tf.int32) for key in KEYS}

  def _check_lengths(self, path):
    """Refuses records of other lengths with a clear message."""
    records = serialized_records(tf.data.Dataset.from_tensors(path))
    for record in records.take(1):
      features = tf.train.Example.FromString(record.numpy()).features.feature
      for name, flag in (
        ("input_ids", "--max_seq_length"),
        ("sbo_positions", "--max_predictions"),
      ):
        if name not in features:
          raise ValueError(
            f"{os.fspath(path)} has records without {name!r}. Write them with "
            "bert_span.create_pretraining_data."
          )
        length = len(features[name].int64_list.value)
        if length != self._lengths[name]:
          raise ValueError(
            f"{os.fspath(path)} was written with {flag}={length}, but {flag} "
            f"is {self._lengths[name]} now. Give the same number."
          )
