"""Training records equal what they were made of, or are refused."""

import functools
import json

import numpy as np
import pytest
import tensorflow as tf
from tiny_extractor import CONTEXT, VOCABULARY, tiny_extractor

from bert_span.data.labelled_windows import PackedWindows
from bert_span.data.training_records import (
  MANIFEST_FILE,
  TrainingRecords,
  read_window_records,
  source_fingerprint,
  window_fingerprint,
  write_training_records,
  write_window_records,
)
from bert_span.data.window_labels import BIO_LABELS, SPAN_LABELS
from bert_span.fine_tuning.fine_tuner import training_set_of
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.squad.example import Answer, SquadExample
from bert_span.storage.record_files import serialized_example
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor
from bert_span.text.vocabulary import vocabulary_sha256

_OPTIONS = FineTuningOptions(
  train_batch_size=3, num_train_epochs=2, length_bucket=8, seed=5
)
_SOURCE = {"train_file_sha256": "0f"}


def _examples():
  """Questions of which some passages take several windows."""
  passage = " ".join([CONTEXT] * 3)
  rows = []
  for i, text in enumerate(["Anna", "1895", "the mill", "river"] * 2):
    context = passage if i % 2 else CONTEXT
    start = context.lower().index(text.lower())
    answer = Answer(context[start : start + len(text)], start)
    rows.append(SquadExample(f"q{i}", "Who built it?", context, (answer,)))
  nothing = (Answer("\u200b", 4),)
  rows.append(SquadExample("zero", "Who?", "the \u200b mill", nothing))
  return rows


@functools.cache
def _made(head=SPAN_HEAD):
  """An extractor of a head and its labelled windows, made once."""
  extractor = tiny_extractor(head=head)
  return extractor, training_set_of(extractor, _examples(), _OPTIONS)


def _fingerprint(head=SPAN_HEAD, **changes):
  options = {"preprocessor": _made(head)[0].preprocessor, "labels": head.labels}
  options |= {"version_2": False, "annotator_labels": "soft"}
  return window_fingerprint(**{**options, "drop_answerless": False, **changes})


def _write(
  folder, head=SPAN_HEAD, num_shards=1, padded_length=None, source=_SOURCE
):
  options = (_fingerprint(head), source, num_shards, padded_length)
  write_training_records(str(folder), _made(head)[1], *options)


def _read(folder, head=SPAN_HEAD, **changes):
  fingerprint = _fingerprint(head, **changes)
  return TrainingRecords(str(folder)).read(fingerprint, head.labels)


@pytest.mark.parametrize("head", [SPAN_HEAD, BIO_HEAD])
def test_windows_of_records_are_those_of_the_questions(tmp_path, head):
  # ram:// is a file system of TensorFlow's only, as gs:// is.
  folder = tmp_path if head is SPAN_HEAD else "ram://records"
  _write(folder, head, num_shards=3)
  found = _read(folder, head)
  _, made = _made(head)
  assert (found.num_examples, found.skipped) == (9, made.skipped)
  assert found.skipped.without_token == ["zero"]
  assert found.windows.digest() == made.windows.digest()


def _preprocessor(vocabulary=VOCABULARY, lower=True, options=(32, 8, 8)):
  return SpanPreprocessor(vocabulary, lower, WindowOptions(*options))


@pytest.mark.parametrize(
  ("changes", "messages"),
  [
    ({}, ["is now '99'"]),  # another version of the package
    (
      {"version_2": True, "drop_answerless": True},
      ["version_2_with_negative was False", "drop_answerless_windows was"],
    ),
    ({"labels": BIO_HEAD.labels}, ["annotator_labels was 'absent'", "head"]),
    # Both vocabularies are named.
    (
      {"preprocessor": _preprocessor([*VOCABULARY, "new"])},
      [vocabulary_sha256(VOCABULARY), vocabulary_sha256([*VOCABULARY, "new"])],
    ),
    (
      {"preprocessor": _preprocessor(lower=False, options=(40, 16, 8))},
      [
        *("do_lower_case was True", "doc_stride was 8, is now 16"),
        "max_seq_length was 32, is now 40",
      ],
    ),
  ],
)
def test_records_made_with_other_options_are_refused(
  tmp_path, monkeypatch, changes, messages
):
  _write(tmp_path)
  if not changes:
    monkeypatch.setattr("bert_span.__version__", "99")
  with pytest.raises(ValueError) as error:
    _read(tmp_path, **changes)
  assert all(message in str(error.value) for message in messages)


def test_records_of_other_questions_are_refused(tmp_path, capsys):
  data, folder = tmp_path / "train.json", str(tmp_path / "records")
  data.write_text("{}")
  _write(folder, source=source_fingerprint(str(data), None))
  TrainingRecords(folder, str(data), None)
  data.write_text("{ }")
  with pytest.raises(ValueError, match="train_file_sha256 was"):
    TrainingRecords(folder, str(data), None)
  with pytest.raises(ValueError, match="dataset was 'absent', is now 'squad/v"):
    TrainingRecords(folder, None, ("squad/v1.1", "train", None))
  assert "--train_file" not in capsys.readouterr().err
  # Without its source nothing is compared, and a line says so.
  records = TrainingRecords(folder, None, None)
  assert "--train_file" in capsys.readouterr().err
  assert records.read(_fingerprint(), SPAN_HEAD.labels).num_examples == 9


def test_a_new_set_replaces_the_old_one_unless_it_is_interrupted(
  tmp_path, monkeypatch
):
  _write(tmp_path, num_shards=2)
  _write(tmp_path, padded_length=32)
  assert len(list(tmp_path.iterdir())) == 2  # a shard and the manifest

  def power_cut(*unused):
    raise OSError("power cut")

  monkeypatch.setattr(
    "bert_span.data.training_records.write_json_atomically", power_cut
  )
  with pytest.raises(OSError, match="power cut"):
    _write(tmp_path, num_shards=2)
  monkeypatch.undo()
  assert _read(tmp_path).num_examples == 9


def test_a_folder_without_a_manifest_is_refused_and_can_be_written(tmp_path):
  for content in (None, "no JSON", '{"made_with": {}, "made_of": {}}'):
    if content is not None:
      (tmp_path / MANIFEST_FILE).write_text(content)
    with pytest.raises(ValueError, match="create_squad_records"):
      TrainingRecords(str(tmp_path))
  _write(tmp_path)
  assert _read(tmp_path).num_examples == 9


@pytest.mark.parametrize("is_outside", [True, False])
def test_a_manifest_names_files_of_its_own_folder_only(tmp_path, is_outside):
  folder = tmp_path / "records"
  _write(folder)
  mine = (tmp_path if is_outside else folder) / "mine"
  mine.write_text("mine")
  path = folder / MANIFEST_FILE
  manifest = json.loads(path.read_text())
  relative = "../mine" if is_outside else "mine"
  for name in (7, "train-0-of-1.tf_record", str(mine), relative):
    manifest["shards"][0]["file"] = name
    path.write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=r"tf_record\.json.*shard 0"):
      _read(folder)
  _write(folder, num_shards=2)
  assert mine.read_text() == "mine"
  assert _read(folder).num_examples == 9


# --- Files of windows.

_TOKENS = (
  np.array([2, 7, 3, 9, 8, 3, 2, 3, 5, 3, 2, 6, 3, 4, 3], np.int32),
  np.array([0, 6, 10, 15], np.int64),
  np.array([3, 2, 3], np.int32),
)
_POSITIONS = {"start_positions": [3, 0, 3], "end_positions": [4, 0, 3]}
_SPANS = PackedWindows(
  *_TOKENS,
  {name: np.array(values, np.int32) for name, values in _POSITIONS.items()},
  SPAN_LABELS,
)
_SHARES = np.linspace(0, 1, 45, dtype=np.float32).reshape(15, 3)
_TAGS = PackedWindows(*_TOKENS, {"tag_labels": _SHARES}, BIO_LABELS)


def paths_of(folder, count):
  return [str(folder / f"{number}.tf_record") for number in range(count)]


def records_of(path):
  return [
    tf.train.Example.FromString(record).features.feature
    for record in tf.data.TFRecordDataset(path).as_numpy_iterator()
  ]


@pytest.mark.parametrize(
  ("windows", "padded_length", "num_files"),
  [(_SPANS, None, 4), (_SPANS, 8, 2), (_TAGS, None, 2), (_TAGS, 8, 2)],
)
def test_windows_come_back_as_they_were(
  tmp_path, windows, padded_length, num_files
):
  paths = paths_of(tmp_path, num_files)
  counts = write_window_records(paths, windows, padded_length)
  assert sum(counts) == 3 and max(counts) - min(counts) <= 1
  read = read_window_records(paths, counts, windows.scheme)
  assert read.scheme is windows.scheme
  assert list(read.labels) == list(windows.labels)
  assert read.digest() == windows.digest()


def test_a_padded_record_is_one_of_the_original(tmp_path):
  (path,) = paths_of(tmp_path, 1)
  write_window_records([path], _SPANS, padded_length=8)
  first, second, _ = records_of(path)
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
  write_window_records([path], _TAGS)
  lengths = [len(r["input_ids"].int64_list.value) for r in records_of(path)]
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
def test_a_record_that_is_no_window_is_refused(tmp_path, record):
  (path,) = paths_of(tmp_path, 1)
  with tf.io.TFRecordWriter(path) as writer:
    writer.write(_example())
    writer.write(record)
  # The file exists and has two records: what is wrong is the second.
  with pytest.raises(ValueError, match=r"0\.tf_record"):
    read_window_records([path], [2], SPAN_LABELS)
  tf.io.TFRecordWriter(path).close()
  with pytest.raises(ValueError, match="no window"):
    read_window_records([path], [0], SPAN_LABELS)


@pytest.mark.parametrize(
  ("fault", "message"),
  [
    ("a record too few", "3 records, but 4"),
    ("damaged", "cannot be read"),
    ("missing", "cannot be read"),
  ],
)
def test_a_damaged_file_is_named(tmp_path, fault, message):
  (path,) = paths_of(tmp_path, 1)
  if fault != "missing":
    write_window_records([path], _SPANS)
  if fault == "damaged":
    with open(path, "r+b") as file:
      file.seek(30)
      file.write(b"damaged")
  with pytest.raises(ValueError, match=rf"0\.tf_record.*{message}"):
    read_window_records([path], [4], SPAN_LABELS)
