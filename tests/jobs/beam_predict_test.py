"""The job of beam_predict; as a command, killed and in several processes."""

import contextlib
import json
import re
import signal

import pytest

from tests.support.models import (
  CONTEXT,
  QUESTION,
  eagerly,
  shared_extractor,
  shared_model,
)
from tests.support.programs import run_program, start_program

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


def _options(questions, output_dir, **options):
  return BeamPredictOptions(
    input=questions,
    output_dir=output_dir,
    **{"model": shared_model(), "num_shards": 8, **options},
  )


def _run(questions, output_dir, *flags, start=run_program):
  return start(
    *("bert_span.beam_predict", f"--model={shared_model()}", "--num_shards=8"),
    *(f"--input={questions.parent}/*.jsonl", f"--output_dir={output_dir}"),
    *flags,
  )


def contents_of(directory):
  """The contents of whole files: a kill may leave an unfinished one."""
  paths = directory.glob("*-of-*.jsonl")
  return {path.name: path.read_bytes() for path in paths}


@pytest.mark.slow
def test_a_killed_job_goes_on_and_two_processes_write_the_same(
  questions, tmp_path, capsys
):
  out = tmp_path / "resumed"
  program = _run(questions, out, start=start_program)
  program.send_signal_when(
    lambda: list(out.glob("answers-*.jsonl")), signal.SIGKILL
  )
  assert program.finish().returncode == -signal.SIGKILL
  done = len(list(out.glob("answers-*.jsonl")))
  again = _run(questions, out)
  assert f"8 shards, {done} of" in again.stderr
  assert f"{8 - done} shards written" in again.stderr
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
  first = _run(
    *(questions, two, "--runner=FnApiRunner", "--direct_num_workers=2"),
    "--direct_running_mode=multi_processing",
  )
  assert re.search(r"10 questions.* 1 records in dead", first.stderr)
  files = contents_of(two)
  assert "answers-00007-of-00008.jsonl" in files
  assert files == contents_of(out)
  job.beam_predict(_options(f"{questions.parent}/*.jsonl", out))
  assert "11 done before; 0 shards" in capsys.readouterr().err


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
  options = _options(questions, tmp_path / "out", model=tmp_path, **given)
  ((name, value),) = given.items()
  named = f"`{name}`=False" if value is False else f"`{name}`"
  with pytest.raises(ValueError, match=named):
    job.beam_predict(options)


@pytest.mark.large
@pytest.mark.parametrize(
  ("good", "strict", "is_refused"),
  [(0, False, True), (1, False, False), (1, True, True)],
)
def test_dead_letters_are_refused_if_asked_or_if_there_is_nothing_else(
  questions, tmp_path, good, strict, is_refused
):
  lines = questions.read_text().splitlines()
  questions.write_text("\n".join([*lines[:good], "{", "["]) + "\n")
  out = tmp_path / "out"
  options = _options(questions, out, strict=strict, num_shards=2)
  error = pytest.raises(ValueError, match=f"2 records.*{out}/dead_letters")
  for _ in range(2):  # The second has nothing to do.
    with eagerly(), error if is_refused else contextlib.nullcontext():
      job.beam_predict(options)
  assert list(out.glob("dead_letters-*.jsonl"))


@pytest.mark.large
def test_a_model_of_a_hub_answers(questions, hub_model, tmp_path):
  out = tmp_path / "out"
  with eagerly():
    job.beam_predict(_options(questions, out, model=hub_model, num_shards=1))
  (path,) = out.glob("answers-*.jsonl")
  row = json.loads(path.read_text().splitlines()[0])
  assert row["answer"] == shared_extractor().answer(QUESTION, _CONTEXTS[0]).text
