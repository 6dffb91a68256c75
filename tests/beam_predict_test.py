"""beam_predict as a user runs it."""

import json
import signal

import pytest
from programs import error_line, run_program, start_program
from tiny_extractor import CONTEXT, QUESTION, shared_model

pytest.importorskip("apache_beam", reason="pip install -e '.[beam]'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  """A folder with a file of questions, one of them bad."""
  path = tmp_path_factory.mktemp("beam_predict")
  rows = [
    {"id": f"q{i}", "question": QUESTION, "context": f"{CONTEXT} {i}"}
    for i in range(10)
  ]
  lines = [*map(json.dumps, rows), "{"]
  (path / "a.jsonl").write_text("\n".join(lines) + "\n")
  return path


def beam_predict(folder, output_dir, *flags, start=run_program):
  return start(
    "bert_span.beam_predict",
    f"--model={shared_model()}",
    f"--input={folder}/*.jsonl",
    f"--output_dir={output_dir}",
    "--num_shards=2",
    *flags,
  )


@pytest.mark.large
def test_a_run_says_what_became_of_the_records_and_is_done_once(
  folder, tmp_path
):
  out = tmp_path / "out"
  first = beam_predict(folder, out, "--runner=DirectRunner")
  assert first.returncode == 0, first.stderr
  assert "1 files, 2 shards, 0 of them done." in first.stderr
  assert (
    "10 questions answered, 1 records in dead letters, 0 done before; 2 shards "
    "written." in first.stderr
  )
  paths = sorted(path.name for path in out.glob("answers-*"))
  assert paths == [f"answers-0000{i}-of-00002.jsonl" for i in range(2)]
  again = beam_predict(folder, out)
  assert "2 of them done." in again.stderr
  assert "11 done before; 0 shards written." in again.stderr
  other = beam_predict(folder, out, "--n_best=3")
  assert "n_best was 1, is now 3" in error_line(other)


@pytest.mark.large
def test_the_same_command_goes_on_with_a_killed_job(folder, tmp_path):
  flags = (folder, tmp_path / "out", "--num_shards=8")
  job = beam_predict(*flags, start=start_program)
  job.send_signal_when(
    lambda: list(tmp_path.glob("out/answers-*.jsonl")), signal.SIGKILL
  )
  assert job.finish().returncode == -signal.SIGKILL
  done = len(list(tmp_path.glob("out/answers-*.jsonl")))
  again = beam_predict(*flags)
  assert f"8 shards, {done} of them done." in again.stderr
  assert f"{8 - done} shards written." in again.stderr
  rows = [
    json.loads(line)
    for path in tmp_path.glob("out/answers-*.jsonl")
    for line in path.read_text().splitlines()
  ]
  assert sorted(row["id"] for row in rows) == [f"q{i}" for i in range(10)]
  (letters,) = tmp_path.glob("out/dead_letters-*")
  assert len(letters.read_text().splitlines()) == 1
