"""Answers of a Beam pipeline: those of the extractor, each once."""

import functools
import importlib.util
import json
import os
import sys
from unittest import mock

import pytest

from tests.support.models import CONTEXT, shared_extractor, shared_model
from tests.support.programs import KilledSource

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from pyarrow import parquet

from bert_span.beam import prediction_pipeline
from bert_span.beam.answering import AnswerSource
from bert_span.beam.counters import run_and_count
from bert_span.beam.question_files import QuestionFile
from bert_span.beam.shards import AnswerShards
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.squad.example import SquadExample
from tests.support.models import exported_model

pytestmark = pytest.mark.slow

_QUESTIONS = ("Who built the mill?", "When was the mill built?", "Who?")
_REPEATED = json.dumps({"id": "q3", "question": "?", "context": "again"})


def examples_of(number):
  """Questions about passages of several lengths."""
  return [
    SquadExample(
      f"q{i}", _QUESTIONS[i % 3], f"{'The river. ' * (i % 7)}{CONTEXT} {i}"
    )
    for i in range(number)
  ]


def write_json_lines(path, examples, more=()):
  with path.open("w") as file:
    for e in examples:
      row = {"id": e.qas_id, "question": e.question, "context": e.context}
      print(json.dumps(row), file=file)
    file.writelines(f"{row}\n" for row in more)
  return QuestionFile(str(path), "jsonl")


def run(files, shards, source, questions=(), flags=("--runner=FnApiRunner",)):
  """Runs a pipeline, by default in this process; returns its counters."""
  pipeline = beam.Pipeline(options=PipelineOptions(list(flags)))
  prediction_pipeline.add_prediction_steps(
    pipeline, files, shards, source, questions
  )
  return run_and_count(pipeline)


def rows_in(directory, kind="answers"):
  """The rows of all shards, in the order of shards."""
  return [
    json.loads(line)
    for path in sorted(directory.glob(f"{kind}-*.jsonl"))
    for line in path.read_text().splitlines()
  ]


def contents_of(directory):
  return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize(
  ("kind", "format"), [(SpanExtractor, "jsonl"), (BioExtractor, "parquet")]
)
def test_answers_are_those_of_the_extractor(kind, format, tmp_path):
  """Of a SavedModel, and of a model directory."""
  extractor = shared_extractor(version_2=True, kind=kind)
  if kind is SpanExtractor:
    directory, _ = exported_model(kind)
  else:
    directory = str(shared_model(version_2=True, kind=kind))
  examples = examples_of(70)  # two batches
  files = [
    write_json_lines(tmp_path / "a.jsonl", examples[:30]),
    write_json_lines(tmp_path / "b.jsonl", examples[30:]),
  ]
  out = tmp_path / "out"
  shards = AnswerShards(str(out), 5, format)
  numbers = run(files, shards, AnswerSource(directory, 3))
  is_jsonl = format == "jsonl"
  rows = rows_in(out) if is_jsonl else parquet.read_table(out).to_pylist()
  predictions = extractor.predictions(examples)
  expected = {
    prediction.qas_id: extractor.columns.answer_row(prediction, 3)
    for prediction in predictions
  }
  assert len(rows) == len(expected) == 70
  for row in rows:
    wanted = expected.pop(row["id"])
    assert wanted.keys() <= row.keys()
    # Parquet has a column for the lists that the head has not.
    assert not any(row[name] for name in row.keys() - wanted.keys())
    for name in ("answer", "char_start", "char_end"):
      assert row[name] == wanted[name]
    for name in ("score", "probability", "null_odds"):
      assert row[name] == pytest.approx(wanted[name], abs=1e-4)
  assert numbers["questions_written"] == numbers["records_read"] == 70
  assert numbers["shards_written"] == 5
  assert not list(out.glob("dead_letters-*"))


@pytest.fixture(scope="module")
def span_model():
  """A model that all runs of this process share: loading traces its graph."""
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(AnswerSource, "load", functools.cache(AnswerSource.load))
    yield AnswerSource(str(shared_model()))


@pytest.fixture(scope="module")
def whole(span_model, tmp_path_factory):
  """Files, one of them damaged, and the contents of a run's four shards."""
  folder = tmp_path_factory.mktemp("whole")
  damaged = folder / "damaged.parquet"
  damaged.write_text("PAR1")
  files = [
    write_json_lines(folder / "a.jsonl", examples_of(20)),
    QuestionFile(str(damaged), "parquet"),
    write_json_lines(folder / "b.jsonl", examples_of(40)[20:], [_REPEATED]),
  ]
  out = folder / "out"
  run(files, AnswerShards(str(out), 4), span_model)
  assert len(rows_in(out)) == 40
  assert len(rows_in(out, "dead_letters")) == 2
  return files, contents_of(out)


def test_what_is_not_answered_is_a_dead_letter_and_nothing_is_lost(
  span_model, tmp_path, monkeypatch
):
  """Bad records, a repeated id, and a question that the model fails on."""
  answer_rows = span_model.load()

  def faulty(examples):
    for row in answer_rows(examples):
      if row["id"] == "q7":
        raise FloatingPointError("seven")
      yield row

  load = mock.Mock(return_value=faulty)
  monkeypatch.setattr(AnswerSource, "load", load)
  bad = ["{", '{"id": "no passage", "question": "Who?"}', '"text"']
  bad.append('{"id": "\\ud800", "question": "Who?", "context": "Anna."}')
  more = [*bad, _REPEATED]
  file = write_json_lines(tmp_path / "a.jsonl", examples_of(20), more)
  out = tmp_path / "out"
  numbers = run([file], AnswerShards(str(out), 3), span_model, ["Whose?"])
  assert sorted(row["id"] for row in rows_in(out)) == sorted(
    f"q{i}" for i in range(20) if i != 7
  )
  letters = sorted(rows_in(out, "dead_letters"), key=lambda row: row["record"])
  assert [row["record"] for row in letters] == [8, 21, 22, 23, 24, 25]
  assert all(row["file"] == file.path for row in letters)
  failed, *bad = letters
  assert failed["id"] == "q7"
  assert failed["reason"] == "Answering failed: FloatingPointError: seven"
  assert json.loads(failed["content"])["question"] == "Whose?"
  assert (bad[0]["content"], bad[1]["id"]) == ("{", "no passage")
  assert "record 4 " in bad[4]["reason"]
  assert (bad[3]["id"], "ud800" in bad[3]["content"]) == ("\ufffd", True)
  assert numbers["dead_letters"] == 6
  load.assert_called_once()  # for all shards


@pytest.mark.skipif(
  not importlib.util.find_spec("distributed"),
  reason="pip install 'dask[distributed]'",
)
def test_two_dask_workers_that_are_killed_write_the_files_of_one_process(
  span_model, whole, tmp_path, monkeypatch
):
  import dask
  from dask.distributed import LocalCluster

  files, contents = whole
  out, killed = tmp_path / "out", tmp_path / "killed"
  killed.mkdir()
  monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
  source = KilledSource(span_model, "q5", str(killed), 2)
  # A worker that restarts imports TensorFlow, for longer than the 15 s.
  with (
    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
    LocalCluster(n_workers=2, threads_per_worker=1) as cluster,
  ):
    flags = (
      "--runner=apache_beam.runners.dask.dask_runner.DaskRunner",
      f"--dask_client_address={cluster.scheduler_address}",
      "--dask_npartitions=4",
    )
    run(files, AnswerShards(str(out), 4), source, flags=flags)
  assert len(list(killed.iterdir())) == 2
  assert contents_of(out) == contents


def test_a_run_that_filled_the_disk_goes_on(span_model, whole, small_disk):
  files, contents = whole
  folder, enlarge = small_disk
  shards = AnswerShards(str(folder), 4)
  with pytest.raises(Exception, match=r"No space left.*-0000"):
    run(files, shards, span_model)
  done = shards.done()
  assert 0 < len(done) < 4
  assert not list(folder.glob("*.tmp"))
  enlarge()
  assert run(files, shards, span_model)["shards_written"] == 4 - len(done)
  assert contents_of(folder) == contents
  # All done: once more does nothing.
  assert run(files, shards, span_model)["shards_written"] == 0
