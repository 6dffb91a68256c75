"""Masked text as TFRecords."""

import dataclasses
import json
import pathlib
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_span.pretraining.records import RecordBatches, write_records
from bert_span.pretraining.text_sources import TextFile
from bert_span.storage.record_files import serialized_example
from tests.support.training import PRETRAINING_INPUT, arrays, rows, write_corpus


@pytest.fixture(scope="module")
def sequences(tmp_path_factory):
  return list(
    PRETRAINING_INPUT.sequences(write_corpus(tmp_path_factory.mktemp("text")))
  )


@pytest.fixture(scope="module")
def paths(tmp_path_factory, sequences):
  folder = tmp_path_factory.mktemp("records")
  paths = [str(folder / "a.tfrecord"), str(folder / "b.tfrecord.gz")]
  written = write_records(paths, sequences, PRETRAINING_INPUT)
  assert written == len(sequences)
  assert sorted(p.name for p in folder.iterdir()) == [
    *("a.tfrecord", "a.tfrecord.json"),
    *("b.tfrecord.gz", "b.tfrecord.gz.json"),
  ]
  return paths


def batches_of(paths, batch_size=4, max_seq_length=12, **masking):
  pretraining_input = dataclasses.replace(
    PRETRAINING_INPUT,
    max_seq_length=max_seq_length,
    masking=dataclasses.replace(PRETRAINING_INPUT.masking, **masking),
  )
  return RecordBatches(
    pretraining_input, [TextFile(path) for path in paths], batch_size
  )


def rows_of_tensors(batches):
  batches = batches.evaluation_batches()
  return rows([{k: v.numpy() for k, v in b.items()} for b in batches])


def test_records_hold_what_was_masked(paths, sequences):
  read = rows_of_tensors(batches_of(paths))
  assert sorted(read) == sorted(rows([PRETRAINING_INPUT.arrays(sequences)]))


def test_a_record_has_the_originals_features_without_the_pair_task(paths):
  serialized = next(iter(tf.data.TFRecordDataset(paths[0]))).numpy()
  features = tf.train.Example.FromString(serialized).features.feature
  assert set(features) == {
    *("input_ids", "input_mask", "segment_ids"),
    *("masked_lm_positions", "masked_lm_ids", "masked_lm_weights"),
    *("sbo_lefts", "sbo_rights", "sbo_positions"),
  }
  assert list(features["segment_ids"].int64_list.value) == [0] * 12
  positions = np.array(features["masked_lm_positions"].int64_list.value)
  weights = list(features["masked_lm_weights"].float_list.value)
  assert weights == (positions > 0).astype(float).tolist()


@pytest.mark.large
def test_epochs_are_whole_and_shuffled_as_in_every_run_of_the_seed(
  paths, sequences
):
  total = len(sequences)
  read = rows(arrays(batches_of(paths, batch_size=1), 0, 2 * total))
  assert sorted(read[:total]) == sorted(read[total:])
  assert read[:total] != read[total:]
  for first in (1, total - 3, total + 7):
    again = arrays(batches_of(paths, batch_size=1), first, 5)
    assert rows(again) == read[first : first + 5]
  other = arrays(batches_of(paths, batch_size=1, seed=4), 0, total)
  assert rows(other) != read[:total]


def test_records_of_another_kind_are_refused(paths, tmp_path):
  with pytest.raises(ValueError, match=r"max_seq_length=12.* 13"):
    batches_of(paths, max_seq_length=13)
  with pytest.raises(ValueError, match=r"max_predictions=2.* 3"):
    batches_of(paths, max_predictions=3)
  vocabulary = PRETRAINING_INPUT.vocabulary
  others = dataclasses.replace(PRETRAINING_INPUT, vocabulary=vocabulary[::-1])
  with pytest.raises(ValueError, match=r"a\.tfrecord.*vocabulary"):
    RecordBatches(others, [TextFile(paths[0])], 4)
  alone = str(shutil.copy(paths[0], tmp_path))  # without what is beside it
  few = dataclasses.replace(PRETRAINING_INPUT, vocabulary=vocabulary[:5])
  with pytest.raises(ValueError, match=r"a\.tfrecord.* id \d+,.* 5 "):
    RecordBatches(few, [TextFile(alone)], 4)
  with pytest.raises(ValueError, match=r"a\.tfrecord"):  # They are no text.
    next(PRETRAINING_INPUT.sequences([TextFile(path) for path in paths]))
  path = str(tmp_path / "empty.tfrecord")
  # An endless dataset of nothing would never end.
  pathlib.Path(path).touch()
  with pytest.raises(ValueError, match=r"empty\.tfrecord"):
    batches_of([path])
  with tf.io.TFRecordWriter(path) as writer:
    writer.write(serialized_example({}))
  with pytest.raises(ValueError, match=r"empty\.tfrecord.*'input_ids'"):
    batches_of([path])


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"format": None}, "format"),
    ({"format": 2}, "format.* 2"),
    ({"vocabulary": None}, "another vocabulary"),
    ({"do_lower_case": None}, "another do_lower_case"),
  ],
)
def test_records_are_of_this_format_and_say_their_tokens(
  paths, tmp_path, change, message
):
  path = shutil.copy(paths[0], tmp_path)
  about = json.loads(pathlib.Path(f"{paths[0]}.json").read_text()) | change
  about = {name: value for name, value in about.items() if value is not None}
  pathlib.Path(f"{path}.json").write_text(json.dumps(about))
  with pytest.raises(ValueError, match=rf"a\.tfrecord\.json.*{message}"):
    batches_of([path])


def flipped(content, index):
  byte = content[index] ^ 1
  return content[:index] + bytes([byte]) + content[index + 1 :]


@pytest.mark.large
@pytest.mark.parametrize(
  "damage",
  [
    lambda content, size: content[:-5],
    lambda content, size: content[:size],  # cut at a record's end
    lambda content, size: flipped(content, 90),
    lambda content, size: flipped(content, len(content) - 90),
    lambda content, size: content * 2,
    lambda content, size: b"",
  ],
)
def test_a_damaged_file_is_named(paths, tmp_path, damage):
  path = tmp_path / "damaged.tfrecord"
  shutil.copy(f"{paths[0]}.json", f"{path}.json")
  content = pathlib.Path(paths[0]).read_bytes()
  # A record is 8 bytes of length, 4 of checksum, the data, 4 of checksum.
  path.write_bytes(damage(content, 16 + int.from_bytes(content[:8], "little")))
  files = [paths[1], str(path)]
  with pytest.raises(ValueError, match=r"damaged\.tfrecord"):
    rows_of_tensors(batches_of(files))
  with pytest.raises((ValueError, tf.errors.OpError)) as raised:
    batches = batches_of(files)
    arrays(batches, 0, 60)
  if not isinstance(raised.value, ValueError):
    assert "damaged.tfrecord" in str(batches.cause_of(raised.value))


def test_a_file_that_was_copied_over_another_is_refused(paths, tmp_path):
  copy = str(tmp_path / "c.tfrecord")
  shutil.copy(paths[0], copy)
  with pytest.raises(ValueError, match=r"c\.tfrecord.*a\.tfrecord"):
    batches_of([*paths, copy])


def test_records_without_a_count_are_read_with_a_note(paths, tmp_path, capsys):
  path = shutil.copy(paths[0], tmp_path)
  assert len(rows_of_tensors(batches_of([path]))) > 5
  assert "a.tfrecord" in capsys.readouterr().err


def test_a_file_that_is_not_finished_has_no_name(tmp_path, sequences):
  def broken():
    yield sequences[0]
    raise RuntimeError("power cut")

  path = tmp_path / "a.tfrecord"
  with pytest.raises(RuntimeError):
    write_records([str(path)], broken(), PRETRAINING_INPUT)
  assert list(tmp_path.iterdir()) == []


def test_every_copy_is_masked_anew_and_workers_share_the_files(tmp_path):
  sources = write_corpus(tmp_path, num_files=2)

  def copies(*arguments):
    return [
      x.input_ids.tolist()
      for x in PRETRAINING_INPUT.copies(sources, *arguments)
    ]

  once, twice = copies(1), copies(2)
  assert len(twice) == 2 * len(once) > 4
  assert twice[: len(once)] == once != twice[len(once) :]
  assert sum(len(copies(1, 2, worker)) for worker in (0, 1)) == len(once)
  with pytest.raises(ValueError, match=r"3 workers.*2 files"):
    copies(1, 3)
