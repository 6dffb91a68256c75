"""beam_predict as a user runs it."""

import json
import signal

import pytest
from programs import error_line, run_program, start_program
from tiny_extractor import CONTEXT, QUESTION, shared_extractor, shared_model

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")

_CONTEXTS = [f"{CONTEXT} {i}" for i in range(10)]


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
  """A file of questions, one of them bad."""
  path = tmp_path_factory.mktemp("beam_predict") / "a.jsonl"
  rows = [
    {"id": f"q{i}", "question": QUESTION, "context": context}
    for i, context in enumerate(_CONTEXTS)
  ]
  path.write_text("\n".join([*map(json.dumps, rows), "{"]) + "\n")
  return path


def beam_predict(questions, output_dir, *flags, start=run_program):
  return start(
    "bert_span.beam_predict",
    f"--model={shared_model()}",
    f"--input={questions.parent}/*.jsonl",
    f"--output_dir={output_dir}",
    "--num_shards=2",
    *flags,
  )


def rows_in(directory):
  return [
    json.loads(line)
    for path in directory.glob("answers-*.jsonl")
    for line in path.read_text().splitlines()
  ]


@pytest.mark.large
def test_two_worker_processes_answer_the_records_once(questions, tmp_path):
  out = tmp_path / "out"
  first = beam_predict(
    *(questions, out, "--runner=FnApiRunner", "--direct_num_workers=2"),
    "--direct_running_mode=multi_processing",
  )
  assert first.returncode == 0, first.stderr
  assert "1 files, 2 shards, 0 of them done." in first.stderr
  assert (
    "10 questions answered, 1 records in dead letters, 0 done before; 2 shards "
    "written." in first.stderr
  )
  paths = sorted(path.name for path in out.glob("answers-*"))
  assert paths == [f"answers-0000{i}-of-00002.jsonl" for i in range(2)]
  expected = shared_extractor().answer([QUESTION] * 10, _CONTEXTS)
  found = sorted(rows_in(out), key=lambda row: row["id"])
  for row, answer in zip(found, expected, strict=True):
    assert (row["answer"], row["char_start"]) == answer[:2]
    assert row["score"] == pytest.approx(answer.score, abs=1e-4)
  again = beam_predict(questions, out)
  assert "2 of them done." in again.stderr
  assert "11 done before; 0 shards written." in again.stderr
  other = beam_predict(questions, out, "--n_best=3")
  assert "n_best was 1, is now 3" in error_line(other)


@pytest.mark.large
def test_the_same_command_goes_on_with_a_killed_job(questions, tmp_path):
  flags = (questions, tmp_path / "out", "--num_shards=8")
  job = beam_predict(*flags, start=start_program)
  job.send_signal_when(
    lambda: list(tmp_path.glob("out/answers-*.jsonl")), signal.SIGKILL
  )
  assert job.finish().returncode == -signal.SIGKILL
  done = len(list(tmp_path.glob("out/answers-*.jsonl")))
  again = beam_predict(*flags)
  assert f"8 shards, {done} of them done." in again.stderr
  assert f"{8 - done} shards written." in again.stderr
  rows = rows_in(tmp_path / "out")
  assert sorted(row["id"] for row in rows) == [f"q{i}" for i in range(10)]
  (letters,) = tmp_path.glob("out/dead_letters-*")
  assert len(letters.read_text().splitlines()) == 1
