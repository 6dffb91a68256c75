"""Training records equal what they were made of, or are refused."""

import functools
import json
import shutil
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from tiny_extractor import CONTEXT, VOCABULARY, tiny_extractor

from bert_span.data import training_records
from bert_span.data.bio_preprocessor import BioPreprocessor
from bert_span.data.labelled_windows import PackedWindows
from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.data.training_records import (
  MANIFEST_FILE,
  TrainingRecords,
  read_window_records,
  source_fingerprint,
  window_fingerprint,
  write_training_records,
  write_window_records,
)
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.fine_tuning.fine_tuner import training_set_of
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.storage.record_files import serialized_example
from bert_span.text.options import WindowOptions

_OPTIONS = FineTuningOptions(
  train_batch_size=3, num_train_epochs=2, length_bucket=8, seed=5
)
_SOURCE = {"train_file_sha256": "0f"}


@functools.cache
def _made(kind=SpanExtractor):
  """An extractor of a head and its labelled windows, some of one passage."""
  examples = [
    SquadExample(answer.text, "Who built it?", context, (answer,))
    for answer, context in (
      (AnswerSpan("Anna", 22), CONTEXT),
      (AnswerSpan("1895", 30), f"{CONTEXT} {CONTEXT} {CONTEXT}"),
      (AnswerSpan("\u200b", 4), "the \u200b mill"),
    )
  ]
  extractor = tiny_extractor(kind=kind)
  return extractor, training_set_of(extractor, examples, _OPTIONS)


def _fingerprint(kind=SpanExtractor, **changes):
  options = {"preprocessor": _made(kind)[0].preprocessor}
  options |= {"version_2": False, "annotator_labels": "soft"}
  return window_fingerprint(**{**options, "drop_answerless": False, **changes})


def _write(
  folder, kind=SpanExtractor, num_shards=1, padded_length=None, source=_SOURCE
):
  options = (_fingerprint(kind), source, num_shards, padded_length)
  write_training_records(str(folder), _made(kind)[1], *options)


def _read(folder, kind=SpanExtractor, **changes):
  fingerprint = _fingerprint(kind, **changes)
  return TrainingRecords(str(folder)).read(fingerprint, kind.preprocessor_class)


@pytest.mark.parametrize(
  ("kind", "num_shards", "padded_length"),
  # 30 shards: some are empty.
  [(SpanExtractor, 30, None), (SpanExtractor, 2, 32), (BioExtractor, 3, 40)],
)
def test_windows_of_records_are_those_of_the_questions(
  tmp_path, kind, num_shards, padded_length
):
  # ram:// is a file system of TensorFlow's only, as gs:// is.
  folder = tmp_path if kind is SpanExtractor else "ram://records"
  _write(folder, kind, num_shards, padded_length)
  found = _read(folder, kind)
  _, made = _made(kind)
  assert (found.num_examples, found.skipped) == (3, made.skipped)
  assert found.skipped.without_token == ["\u200b"]
  np.testing.assert_array_equal(
    found.windows.has_answer, made.windows.has_answer
  )
  assert found.windows.digest() == made.windows.digest()


def test_records_made_with_other_options_are_refused(tmp_path, monkeypatch):
  _write(tmp_path)
  monkeypatch.setattr(training_records, "_WINDOWS_OF", "99")
  with pytest.raises(ValueError) as error:
    _read(
      tmp_path,
      version_2=True,
      drop_answerless=True,
      preprocessor=BioPreprocessor(
        [*VOCABULARY, "new"], False, WindowOptions(40, 16, 9)
      ),
    )
  for name in (
    *("bert_span", "max_seq_length", "doc_stride", "max_query_length"),
    *("do_lower_case", "vocabulary_sha256", "version_2_with_negative"),
    *("drop_answerless_windows", "head", "annotator_labels"),
  ):
    assert f"{name} was" in str(error.value)


def test_records_of_other_questions_are_refused(tmp_path, capsys):
  data, folder = tmp_path / "train.json", str(tmp_path / "records")
  data.write_text("{}")
  _write(folder, source=source_fingerprint(str(data), None))
  TrainingRecords(folder, str(data))
  data.write_text("{ }")
  with pytest.raises(ValueError, match="train_file_sha256 was"):
    TrainingRecords(folder, str(data))
  with pytest.raises(ValueError, match="dataset was 'absent', is now 'squad/v"):
    TrainingRecords(folder, None, ("squad/v1.1", "train", None))
  assert "--train_file" not in capsys.readouterr().err
  # Without its source nothing is compared, and a line says so.
  records = TrainingRecords(folder)
  assert "--train_file" in capsys.readouterr().err
  assert records.read(_fingerprint(), SpanPreprocessor).num_examples == 3


def test_a_shard_that_was_copied_over_another_is_refused(tmp_path):
  _write(tmp_path, num_shards=30)
  manifest = json.loads((tmp_path / MANIFEST_FILE).read_text())
  first, second = manifest["shards"][:2]
  assert first["records"] == second["records"] == 1
  shutil.copyfile(tmp_path / first["file"], tmp_path / second["file"])
  with pytest.raises(ValueError, match=rf"{second['file']}.*SHA-256"):
    _read(tmp_path)


def test_a_manifest_without_hashes_is_read(tmp_path):
  _write(tmp_path, num_shards=2)
  path = tmp_path / MANIFEST_FILE
  manifest = json.loads(path.read_text())
  for shard in manifest["shards"]:
    del shard["sha256"]
  path.write_text(json.dumps(manifest))
  assert _read(tmp_path).windows.digest() == _made()[1].windows.digest()


def test_a_new_set_replaces_the_old_one_unless_it_is_interrupted(
  tmp_path, monkeypatch
):
  _write(tmp_path, num_shards=2)
  _write(tmp_path, padded_length=32)
  assert len(list(tmp_path.iterdir())) == 2  # a shard and the manifest
  with monkeypatch.context() as patch:
    power_cut = mock.Mock(side_effect=OSError("power cut"))
    patch.setattr(training_records, "write_json_atomically", power_cut)
    with pytest.raises(OSError, match="power cut"):
      _write(tmp_path, num_shards=2)
  assert _read(tmp_path).num_examples == 3


def test_a_folder_without_a_manifest_is_refused_and_can_be_written(tmp_path):
  for content in (None, "no JSON", '{"made_with": {}, "made_of": {}}'):
    if content is not None:
      (tmp_path / MANIFEST_FILE).write_text(content)
    with pytest.raises(ValueError, match="create_squad_records"):
      TrainingRecords(str(tmp_path))
  _write(tmp_path)
  assert _read(tmp_path).num_examples == 3


def test_a_manifest_names_files_of_its_own_folder_only(tmp_path):
  folder = tmp_path / "records"
  _write(folder)
  outside, inside = tmp_path / "mine", folder / "mine"
  outside.write_text("mine")
  inside.write_text("mine")
  path = folder / MANIFEST_FILE
  manifest = json.loads(path.read_text())
  for name in (7, "train-0-of-1.tf_record", str(outside), "../mine", "mine"):
    manifest["shards"][0]["file"] = name
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=r"tf_record\.json.*shard 0"):
      _read(folder)
  _write(folder, num_shards=2)
  assert outside.read_text() == inside.read_text() == "mine"
  assert _read(folder).num_examples == 3


# --- Files of windows.

_SPANS = PackedWindows(
  token_ids=np.array([2, 7, 3, 9, 8, 3, 2, 3, 5, 3, 2, 6, 3, 4, 3], np.int32),
  row_splits=np.array([0, 6, 10, 15]),
  first_context_positions=np.array([3, 2, 3]),
  labels={
    "start_positions": np.array([3, 0, 3]),
    "end_positions": np.array([4, 0, 3]),
  },
  has_answer=np.array([True, False, True]),
)


@pytest.fixture
def path(tmp_path):
  return str(tmp_path / "0.tf_record")


def _records_of(path):
  return [
    tf.train.Example.FromString(record).features.feature
    for record in tf.data.TFRecordDataset(path).as_numpy_iterator()
  ]


def test_a_padded_record_is_one_of_the_original(path):
  assert write_window_records([path, f"{path}1"], _SPANS, 8) == [2, 1]
  first, second = _records_of(path)
  assert {name: list(f.int64_list.value) for name, f in first.items()} == {
    "unique_ids": [1_000_000_000],
    "input_ids": [2, 7, 3, 9, 8, 3, 0, 0],
    "input_mask": [1, 1, 1, 1, 1, 1, 0, 0],
    "segment_ids": [0, 0, 0, 1, 1, 1, 0, 0],
    "start_positions": [3],
    "end_positions": [4],
  }
  assert list(second["unique_ids"].int64_list.value) == [1_000_000_001]
  assert list(second["segment_ids"].int64_list.value) == [0, 0, 1, 1] + [0] * 4
  # Without padding a record is as long as its window.
  write_window_records([path], _SPANS)
  lengths = [len(r["input_ids"].int64_list.value) for r in _records_of(path)]
  assert lengths == [6, 4, 5]


def _example(**changes):
  features = {
    "input_ids": [2, 7, 3, 9, 3],
    "input_mask": [1] * 5,
    "segment_ids": [0, 0, 0, 1, 1],
    "start_positions": [3],
    "end_positions": [3],
  }
  return serialized_example(features | changes)


@pytest.mark.parametrize(
  "record",
  [
    b"no example",
    serialized_example({}, {"input_ids": [0.5]}),
    _example(start_positions=[]),
    _example(input_mask=[1, 1]),
    _example(segment_ids=[0] * 5),
    _example(segment_ids=[1] * 5),
  ],
)
def test_a_record_that_is_no_window_is_refused(path, record):
  with tf.io.TFRecordWriter(path) as writer:
    writer.write(_example())
    writer.write(record)
  # The file exists and has two records: what is wrong is the second.
  with pytest.raises(ValueError, match=r"0\.tf_record"):
    read_window_records([path], [2], SpanPreprocessor)
  tf.io.TFRecordWriter(path).close()
  with pytest.raises(ValueError, match="no window"):
    read_window_records([path], [0], SpanPreprocessor)


@pytest.mark.parametrize("fault", ["a record too few", "damaged", "missing"])
def test_a_damaged_file_is_named(path, fault):
  if fault != "missing":
    write_window_records([path], _SPANS)
  if fault == "damaged":
    with open(path, "r+b") as file:
      file.seek(30)
      file.write(b"damaged")
  message = "3 records, but 4" if fault == "a record too few" else "be read"
  with pytest.raises(ValueError, match=rf"0\.tf_record.*{message}"):
    read_window_records([path], [4], SpanPreprocessor)
