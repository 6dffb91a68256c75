"""beam_predict as a user runs it."""

import json
import signal

import pytest

from tests.support.models import (
  CONTEXT,
  QUESTION,
  shared_extractor,
  shared_model,
)
from tests.support.programs import run_here, run_program, start_program

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")

from bert_span.beam_predict import BeamPredictOptions
from bert_span.jobs import beam_predict as job

_CONTEXTS = [f"{CONTEXT} {i}" for i in range(10)]


@pytest.fixture
def questions(tmp_path):
  """A file of questions, one of them bad."""
  path = tmp_path / "a.jsonl"
  rows = [
    {"id": f"q{i}", "question": QUESTION, "context": context}
    for i, context in enumerate(_CONTEXTS)
  ]
  path.write_text("\n".join([*map(json.dumps, rows), "{"]) + "\n")
  return path


def beam_predict(questions, output_dir, *flags, start=run_program):
  return start(
    *("bert_span.beam_predict", f"--model={shared_model()}", "--num_shards=8"),
    *(f"--input={questions.parent}/*.jsonl", f"--output_dir={output_dir}"),
    *flags,
  )


def contents_of(directory):
  """The contents of whole files: a kill may leave an unfinished one."""
  paths = directory.glob("*-of-*.jsonl")
  return {path.name: path.read_bytes() for path in paths}


@pytest.mark.large
def test_a_killed_job_goes_on_and_two_processes_write_the_same(
  questions, tmp_path
):
  out = tmp_path / "resumed"
  job = beam_predict(questions, out, start=start_program)
  job.send_signal_when(
    lambda: list(out.glob("answers-*.jsonl")), signal.SIGKILL
  )
  assert job.finish().returncode == -signal.SIGKILL
  done = len(list(out.glob("answers-*.jsonl")))
  again = beam_predict(questions, out)
  assert f"8 shards, {done} of them done." in again.stderr
  assert f"{8 - done} shards written." in again.stderr
  expected = shared_extractor().answer([QUESTION] * 10, _CONTEXTS)
  paths = out.glob("answers-*.jsonl")
  lines = [line for path in paths for line in path.read_text().splitlines()]
  rows = sorted(map(json.loads, lines), key=lambda row: row["id"])
  for row, answer in zip(rows, expected, strict=True):
    assert row["answer"] == answer.text
    assert row["char_start"] == answer.char_start
    assert row["score"] == pytest.approx(answer.score, abs=1e-4)
  (letters,) = out.glob("dead_letters-*.jsonl")
  assert len(letters.read_text().splitlines()) == 1
  two = tmp_path / "two"
  first = beam_predict(
    *(questions, two, "--runner=FnApiRunner", "--direct_num_workers=2"),
    "--direct_running_mode=multi_processing",
  )
  assert "10 questions answered, 1 records in dead letters," in first.stderr
  files = contents_of(two)
  assert "answers-00007-of-00008.jsonl" in files
  assert files == contents_of(out)
  again = beam_predict(questions, out, start=run_here)
  assert "11 done before; 0 shards written." in again.stderr


@pytest.mark.parametrize(
  "given",
  [
    {"predict_batch_size": 4},
    {"fixed_length": True},
    {"dtype": "bfloat16"},
    {"doc_stride": 64},
    {"verify": False},
  ],
  ids=str,
)
def test_what_an_exported_model_has_fixed_is_refused(
  questions, tmp_path, given
):
  (tmp_path / "saved_model.pb").touch()
  options = BeamPredictOptions(
    model=tmp_path, input=questions, output_dir=tmp_path / "out", **given
  )
  ((name, value),) = given.items()
  named = f"`{name}`=False" if value is False else f"`{name}`"
  with pytest.raises(ValueError, match=f"{named} is fixed"):
    job.beam_predict(options)


@pytest.mark.large
@pytest.mark.parametrize(
  ("good", "flags", "status"),
  [(0, (), 1), (1, (), 0), (1, ("--strict",), 1)],
)
def test_dead_letters_end_with_status_1_if_asked_or_if_there_is_nothing_else(
  questions, tmp_path, good, flags, status
):
  lines = questions.read_text().splitlines()
  questions.write_text("\n".join([*lines[:good], "{", "["]) + "\n")
  out = tmp_path / "out"
  for _ in range(2):  # The second has nothing to do.
    run = beam_predict(questions, out, *flags, start=run_here)
    assert run.returncode == status
    assert ("2 records are not answered" in run.stderr) == bool(status)
  assert list(out.glob("dead_letters-*.jsonl"))
