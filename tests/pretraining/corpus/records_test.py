"""Masked text as TFRecords."""

import numpy as np
import pytest
import tensorflow as tf
from corpus import VOCABULARY, stream_of, write_corpus

from bert_span.pretraining.corpus.batches import masked_sequences
from bert_span.pretraining.corpus.records import (
  RecordBatches,
  masked_copies,
  write_records,
)
from bert_span.pretraining.masking.masked_arrays import KEYS, masked_arrays
from bert_span.pretraining.masking.masked_sequence import SequenceMasker
from bert_span.pretraining.options import MaskingOptions

_LENGTH = 12
_TARGETS = 2
_OPTIONS = MaskingOptions(max_predictions=_TARGETS)


@pytest.fixture(scope="module")
def sequences(tmp_path_factory):
  sources = write_corpus(tmp_path_factory.mktemp("text"))
  masker = SequenceMasker(VOCABULARY, _OPTIONS)
  return list(masked_sequences(stream_of(sources), masker))


@pytest.fixture(scope="module")
def paths(tmp_path_factory, sequences):
  folder = tmp_path_factory.mktemp("records")
  paths = [str(folder / "a.tfrecord"), str(folder / "b.tfrecord.gz")]
  written = write_records(paths, sequences, _LENGTH, _OPTIONS)
  assert written == len(sequences)
  assert sorted(p.name for p in folder.iterdir()) == [
    *("a.tfrecord", "b.tfrecord.gz")
  ]
  return paths


def batches_of(paths, seed=3, batch_size=4):
  return RecordBatches(paths, batch_size, _LENGTH, _TARGETS, seed, 16)


def arrays(batches, first_step, count):
  return list(batches.dataset(first_step).take(count).as_numpy_iterator())


def rows(batches):
  return [
    tuple(tuple(batch[key][row].tolist()) for key in KEYS)
    for batch in batches
    for row in range(len(batch["input_ids"]))
  ]


def test_records_hold_what_was_masked(paths, sequences):
  read = rows(batches_of(paths).evaluation_dataset().as_numpy_iterator())
  arrays = masked_arrays(sequences, _LENGTH, _OPTIONS)
  assert sorted(read) == sorted(rows([arrays]))


def test_a_record_has_the_originals_features_without_the_pair_task(paths):
  serialized = next(iter(tf.data.TFRecordDataset(paths[0]))).numpy()
  features = tf.train.Example.FromString(serialized).features.feature
  assert set(features) == {
    *("input_ids", "input_mask", "segment_ids"),
    *("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"),
    *("sbo_lefts", "sbo_rights", "sbo_positions"),
  }
  assert list(features["segment_ids"].int64_list.value) == [0] * _LENGTH
  positions = np.array(features["masked_lm_positions"].int64_list.value)
  weights = list(features["masked_lm_weights"].float_list.value)
  assert weights == (positions > 0).astype(float).tolist()


def test_epochs_are_shuffled_and_whole(paths, sequences):
  total = len(sequences)
  read = rows(arrays(batches_of(paths, batch_size=1), 0, 2 * total))
  assert sorted(read[:total]) == sorted(read[total:])
  assert read[:total] != read[total:]


def test_a_later_start_gives_the_same_batches(paths):
  whole = arrays(batches_of(paths), 0, 40)
  for first in (1, 17, 33):
    again = arrays(batches_of(paths), first, 3)
    assert rows(again) == rows(whole[first : first + 3])
  assert rows(arrays(batches_of(paths, seed=4), 0, 40)) != rows(whole)


@pytest.mark.parametrize(
  ("lengths", "message"),
  [
    ((13, _TARGETS), "--max_seq_length=12.* 13"),
    ((_LENGTH, 3), "--max_predictions=2.* 3"),
  ],
)
def test_records_of_other_lengths_are_refused(paths, lengths, message):
  with pytest.raises(ValueError, match=message):
    RecordBatches(paths, 4, *lengths, seed=0)


def test_records_of_the_original_are_refused(tmp_path):
  path = str(tmp_path / "old.tfrecord")
  with tf.io.TFRecordWriter(path) as writer:
    writer.write(tf.train.Example().SerializeToString())
  with pytest.raises(ValueError, match=r"old\.tfrecord.*'input_ids'"):
    batches_of([path])


def test_a_file_that_is_not_finished_has_no_name(tmp_path, sequences):
  def broken():
    yield sequences[0]
    raise RuntimeError("power cut")

  path = tmp_path / "a.tfrecord"
  with pytest.raises(RuntimeError):
    write_records([str(path)], broken(), _LENGTH, _OPTIONS)
  assert list(tmp_path.iterdir()) == []


def copies_of(sources, copies, num_workers=1, worker=0):
  return list(
    masked_copies(
      *(sources, VOCABULARY, True, _LENGTH, _OPTIONS),
      *(copies, num_workers, worker),
    )
  )


def test_every_copy_is_masked_anew_and_workers_share_the_files(tmp_path):
  sources = write_corpus(tmp_path, num_files=2)
  once, twice = copies_of(sources, 1), copies_of(sources, 2)
  assert len(twice) == 2 * len(once) > 4
  second = twice[len(once) :]
  same = [
    np.array_equal(a.input_ids, b.input_ids)
    for a, b in zip(once, second, strict=True)
  ]
  assert not all(same)
  shares = [copies_of(sources, 1, 2, worker) for worker in range(2)]
  assert sum(map(len, shares)) == len(once)
  with pytest.raises(ValueError, match="3 workers"):
    copies_of(sources, 1, 3)
