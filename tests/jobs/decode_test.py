"""The job of decode, on the logits of a tiny model."""

import json

import numpy as np
import pytest

from bert_span.answers.prediction_files import write_predictions
from bert_span.answers.window_logits import LogitsWriter
from bert_span.decode import DecodeOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.jobs.decode import decode
from bert_span.squad.reader import read_squad
from tests.support.models import (
  CONTEXT,
  QUESTION,
  VOCABULARY,
  shared_extractor,
  shared_model,
)
from tests.support.squad import read


def _save(extractor, examples, folder, version_2):
  """Saves a model's logits of questions, and its prediction files."""
  writer = LogitsWriter(extractor.logits)
  predictions = []
  for logits in extractor.window_logits(examples):
    writer.add(logits)
    predictions += extractor.decode(logits)
  (folder / "logits.npz").write_bytes(writer.content(32))
  expected = folder / "expected"
  write_predictions(expected, extractor.columns, predictions, version_2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, eager):
  """Questions, and what run_squad would write about them."""
  path = tmp_path_factory.mktemp("decode")
  (path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", "utf-8")
  paragraphs = [
    {"context": context, "qas": [{"id": f"q{i}", "question": QUESTION}]}
    for i, context in enumerate([CONTEXT, f"Mills. {CONTEXT} " * 4, " "])
  ]
  squad = {"version": "v2.0", "data": [{"title": "", "paragraphs": paragraphs}]}
  (path / "dev.json").write_text(json.dumps(squad))
  examples = read_squad(str(path / "dev.json")).examples
  _save(shared_extractor(version_2=True), examples, path, True)
  return path


def _assert_expected(folder, output_dir, *names):
  assert sorted(path.name for path in output_dir.iterdir()) == [*names]
  for name in names:
    expected = (folder / "expected" / name).read_bytes()
    assert (output_dir / name).read_bytes() == expected


def test_saved_logits_give_the_files_of_the_model(folder, tmp_path, capsys):
  out = tmp_path / "out"
  options = DecodeOptions(
    model=shared_model(version_2=True),
    predict_file=folder / "dev.json",
    logits_file=(folder / "logits.npz",),
    output_dir=out,
  )
  decode(options)
  assert "3 questions" in capsys.readouterr().err
  names = ("nbest_predictions.json", "null_odds.json", "predictions.json")
  _assert_expected(folder, out, *names)


@pytest.fixture
def decode_files(folder, tmp_path):
  """A function that decodes several files of logits."""

  def decode_files(*paths, **options):
    options = DecodeOptions(
      predict_file=folder / "dev.json",
      logits_file=paths,
      output_dir=tmp_path / "out",
      vocab_file=folder / "vocab.txt",
      max_seq_length=32,
      doc_stride=8,
      max_query_length=8,
      **options,
    )
    return decode(options)

  return decode_files


def test_a_vocabulary_and_options_take_the_place_of_the_model(
  folder, tmp_path, decode_files
):
  # Files between commas, or given several times.
  logits = folder / "logits.npz"
  decode_files(f"{logits},{logits}", logits, version_2_with_negative=True)
  n_best, expected = (
    read(path / "nbest_predictions.json")
    for path in (tmp_path / "out", folder / "expected")
  )
  for qas_id, entries in expected.items():
    texts = [entry["text"] for entry in entries]
    assert [entry["text"] for entry in n_best[qas_id]] == texts


def test_saved_tag_logits_give_the_files_of_the_model(
  folder, tmp_path, decode_files
):
  examples = read_squad(str(folder / "dev.json")).examples
  _save(shared_extractor(kind=BioExtractor), examples, tmp_path, False)
  predictions = decode_files(tmp_path / "logits.npz", head="bio")
  names = ("predictions.json", "span_predictions.json")
  _assert_expected(tmp_path, tmp_path / "out", *names)
  assert any(len(prediction.spans) > 1 for prediction in predictions)


def _changed(folder, tmp_path, change):
  """Writes the logits, each array changed, to another file."""
  with np.load(folder / "logits.npz") as file:
    arrays = {name: change(name, values) for name, values in file.items()}
  np.savez(tmp_path / "other.npz", **arrays)
  return tmp_path / "other.npz"


def test_an_ensemble_averages_the_logits_of_each_window(
  folder, tmp_path, decode_files
):
  def reverse_and_raise(name, values):
    values = values[::-1]
    return values + np.float32(2) if name.endswith("_logits") else values

  logits = folder / "logits.npz"
  expected = decode_files(logits)
  ensemble = decode_files(logits, _changed(folder, tmp_path, reverse_and_raise))
  assert [p.answer.text for p in ensemble] == [p.answer.text for p in expected]
  # Start and end are each higher by the mean of 0 and 2.
  scores = [p.answer.score + 2 for p in expected[:2]]
  assert [p.answer.score for p in ensemble[:2]] == pytest.approx(
    scores, abs=1e-5
  )


def test_logits_of_other_windows_are_refused(folder, tmp_path, decode_files):
  def add_one(name, values):
    last = values[-1:]
    last = last + 1 if name == "doc_span_index" else last
    return np.append(values, last, axis=0)

  with pytest.raises(ValueError, match=r"other\.npz: window .* question q1"):
    decode_files(folder / "logits.npz", _changed(folder, tmp_path, add_one))
