"""Training records: equal to what they were made of, or refused."""

import functools

import numpy as np
import pytest
from tiny_extractor import CONTEXT, VOCABULARY, tiny_extractor

from bert_span.data.length_buckets import BucketedBatches
from bert_span.data.training_records import (
  MANIFEST_FILE,
  TrainingRecords,
  open_training_records,
  source_fingerprint,
  window_fingerprint,
  write_training_records,
)
from bert_span.fine_tuning.fine_tuner import (
  fine_tune,
  fine_tune_on,
  training_set_of,
)
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.squad.example import Answer, SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor

_OPTIONS = FineTuningOptions(
  train_batch_size=3, num_train_epochs=2, length_bucket=8, seed=5
)
_SOURCE = {"train_file_sha256": "0f"}


def examples():
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


def fingerprint_of(extractor, **changes):
  options = {
    "preprocessor": extractor.preprocessor,
    "labels": extractor.head.labels,
    "version_2": False,
    "annotator_labels": "soft",
    "drop_answerless": False,
  }
  return window_fingerprint(**(options | changes))


@functools.cache
def made_of(head):
  """An extractor of a head and its labelled windows, made once."""
  extractor = tiny_extractor(head=head)
  return extractor, training_set_of(extractor, examples(), _OPTIONS)


def written(folder, extractor, num_shards=3, padded_length=None):
  """Labelled windows, written to a folder."""
  _, labelled = made_of(extractor.head)
  write_training_records(
    folder,
    labelled,
    fingerprint_of(extractor),
    _SOURCE,
    num_shards,
    padded_length,
  )
  return labelled


def read(folder, extractor, **changes):
  return TrainingRecords(folder).read(
    fingerprint_of(extractor, **changes), extractor.head.labels
  )


def assert_same_batches(one, other, bucket):
  batches = [
    BucketedBatches(labelled.windows, 3, 32, bucket, seed=1)
    .dataset(0)
    .take(9)
    .as_numpy_iterator()
    for labelled in (one, other)
  ]
  for first, second in zip(*batches, strict=True):
    assert list(first) == list(second)
    for name in first:
      assert first[name].dtype == second[name].dtype
      np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.parametrize("head", [SPAN_HEAD, BIO_HEAD])
@pytest.mark.parametrize("padded_length", [None, 32])
def test_batches_of_records_are_those_of_the_questions(
  tmp_path, head, padded_length
):
  extractor, _ = made_of(head)
  made = written(str(tmp_path), extractor, padded_length=padded_length)
  back = read(str(tmp_path), extractor)
  assert (back.num_examples, back.skipped) == (9, made.skipped)
  assert back.skipped.without_token == ["zero"]
  for bucket in (None, 8):
    assert_same_batches(made, back, bucket)


@pytest.mark.large
def test_weights_trained_on_records_are_those_of_the_questions(tmp_path):
  weights = []
  for from_records in (False, True):
    extractor = tiny_extractor()
    out = str(tmp_path / f"{from_records}")
    if from_records:
      written(str(tmp_path / "records"), extractor)
      labelled = read(str(tmp_path / "records"), extractor)
      fine_tune_on(extractor, labelled, _OPTIONS, out)
    else:
      fine_tune(extractor, examples(), _OPTIONS, out)
    weights.append(extractor.model.get_weights())
  for one, other in zip(*weights, strict=True):
    np.testing.assert_array_equal(one, other)
  start = tiny_extractor().model.head.get_weights()
  assert not np.array_equal(start[0], extractor.model.head.get_weights()[0])


def test_records_are_read_and_written_wherever_tensorflow_can():
  """ram:// is a file system of TensorFlow's only, as gs:// is."""
  extractor, made = made_of(SPAN_HEAD)
  written("ram://records", extractor)
  assert_same_batches(made, read("ram://records", extractor), 8)


def _preprocessor(vocabulary=VOCABULARY, lower=True, options=(32, 8, 8)):
  return SpanPreprocessor(vocabulary, lower, WindowOptions(*options))


@pytest.mark.parametrize(
  ("changes", "messages"),
  [
    ({}, ["is now '99'"]),  # another version of the package
    ({"version_2": True}, ["version_2_with_negative was False, is now True"]),
    ({"drop_answerless": True}, ["drop_answerless_windows was False"]),
    ({"labels": BIO_HEAD.labels}, ["annotator_labels was 'absent'", "head"]),
    (
      {"preprocessor": _preprocessor([*VOCABULARY, "new"])},
      ["vocabulary_sha256 was"],
    ),
    (
      {"preprocessor": _preprocessor(lower=False)},
      ["do_lower_case was True, is now False"],
    ),
    (
      {"preprocessor": _preprocessor(options=(40, 16, 8))},
      ["doc_stride was 8, is now 16", "max_seq_length was 32, is now 40"],
    ),
  ],
)
def test_records_made_with_other_options_are_refused(
  tmp_path, monkeypatch, changes, messages
):
  extractor, _ = made_of(SPAN_HEAD)
  written(str(tmp_path), extractor)
  if not changes:
    monkeypatch.setattr("bert_span.__version__", "99")
  with pytest.raises(ValueError) as error:
    read(str(tmp_path), extractor, **changes)
  assert all(message in str(error.value) for message in messages)


def test_records_of_a_file_that_has_changed_are_refused(tmp_path):
  data = tmp_path / "train.json"
  data.write_text("{}")
  source = source_fingerprint(str(data), None)
  extractor, labelled = made_of(SPAN_HEAD)
  folder = str(tmp_path / "records")
  write_training_records(folder, labelled, fingerprint_of(extractor), source, 1)
  open_training_records(folder, str(data), None)
  data.write_text("{ }")
  with pytest.raises(ValueError, match="train_file_sha256 was"):
    open_training_records(folder, str(data), None)
  with pytest.raises(ValueError, match="dataset was 'absent', is now 'squad/v"):
    open_training_records(folder, None, ("squad/v1.1", "train", None))


def test_without_its_source_a_set_of_records_is_read_and_that_is_said(
  tmp_path, capsys
):
  extractor, _ = made_of(SPAN_HEAD)
  made = written(str(tmp_path), extractor)
  records = open_training_records(str(tmp_path), None, None)
  back = records.read(fingerprint_of(extractor), SPAN_HEAD.labels)
  assert len(back.windows) == len(made.windows)
  assert "--train_file" in capsys.readouterr().err


def test_a_new_set_replaces_the_shards_of_the_old_one(tmp_path):
  extractor, _ = made_of(SPAN_HEAD)
  written(str(tmp_path), extractor, num_shards=3)
  assert len(list(tmp_path.glob("*.tf_record"))) == 3
  written(str(tmp_path), extractor, num_shards=2, padded_length=32)
  assert len(list(tmp_path.iterdir())) == 3  # two shards and the manifest
  read(str(tmp_path), extractor)


def test_a_set_that_is_broken_off_leaves_the_old_one(tmp_path, monkeypatch):
  extractor, _ = made_of(SPAN_HEAD)
  written(str(tmp_path), extractor)

  def power_cut(*unused):
    raise OSError("power cut")

  monkeypatch.setattr(
    "bert_span.data.training_records.write_json_atomically", power_cut
  )
  with pytest.raises(OSError, match="power cut"):
    written(str(tmp_path), extractor, num_shards=2)
  monkeypatch.undo()
  assert read(str(tmp_path), extractor).num_examples == 9


@pytest.mark.parametrize(
  "content", [None, "no JSON", "{}", '{"made_with": {}, "made_of": {}}']
)
def test_a_folder_without_a_manifest_is_refused(tmp_path, content):
  if content is not None:
    (tmp_path / MANIFEST_FILE).write_text(content)
  with pytest.raises(ValueError, match="create_squad_records"):
    TrainingRecords(str(tmp_path))


def test_a_damaged_manifest_can_be_written_over(tmp_path):
  (tmp_path / MANIFEST_FILE).write_text("no JSON")
  extractor, _ = made_of(SPAN_HEAD)
  written(str(tmp_path), extractor)
  assert read(str(tmp_path), extractor).num_examples == 9
