"""Every benchmark runs at its smallest setting."""

import json
import sys

import pytest
from programs import fork_server, start_program, succeeds, succeeds_here
from squad_runs import write_squad_files
from tiny_extractor import shared_model
from tiny_pretraining import write_corpus

from benchmarks import answering_sides, repetitions

# Flags of each program, and the first cells of the rows that it prints.
_COMMANDS = {
  "beam_workers": (
    "--model={model} --workers=1 --questions=2 --short_passages=0",
    ["1"],
  ),
  "conversion": (
    "--preset={model} --data_file={data} --sides=bert_span --cores=1 "
    "--repetitions=1",
    ["1"],
  ),
  "decoding": (
    "--preset={model} --data_file={data} --repetitions=1",
    ["1.1", "1.1", "2.0", "2.0"],
  ),
  "growth": ("--questions=2 --characters= --repetitions=1", ["2"]),
  "inference_encoder": (
    "--model={model} --shapes=1x8,2x16 --rounds=1",
    ["1x8", "2x16"],
  ),
  "passage_search": (
    "--model={model} --questions_file={data} --passages={data} --questions=2 "
    "--top_k=1",
    ["1"],
  ),
  "pretraining_input": (
    "--preset={model} --input_file={text} --max_seq_length=16 "
    "--train_batch_size=2 --batches=2 --updates=1 --repetitions=1",
    ["input", "model", "masking"],
  ),
  "serving": (
    "--model={model} --data_file={data} --peers=extractor --batch_sizes=2 "
    "--requests=2 --warm_up=0",
    ["short", "short", "long", "long"],
  ),
  "serving_load": (
    "--address={address} --data_file={data} --clients=1,2 --requests=4 "
    "--warm_up=1",
    ["1", "2"],
  ),
  "tflite": (
    "--model={model} --predict_file={data} --questions=2 --rounds=1 --short=16 "
    "--quantization=none",
    ["none"] * 3,
  ),
  "training": (
    "--shapes=tiny --sides=tensorflow --max_seq_length=64 --batch_size=1 "
    "--steps=1 --warm_up=1 --peak_tflops=1",
    ["tiny"] * 3,
  ),
  "training_profile": (
    "--shape=tiny --batch_size=1 --length=8 --warm_up=1 --steps=1",
    None,
  ),
}
_NEED = {"beam_workers": "apache_beam", "passage_search": "bm25s"}
# Run here, so that the processes that they start have TensorFlow already;
# `growth` starts its own. The others run as commands.
_RUN_HERE = ("conversion", "serving", "training", "training_step")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
  """Paths that the flags name."""
  folder = tmp_path_factory.mktemp("benchmarks")
  write_squad_files(folder)
  write_corpus(folder, num_files=1)
  return {
    "model": shared_model(version_2=True),
    "data": folder / "v1.json",
    "text": folder / "0.txt",
  }


@pytest.fixture
def run_benchmark(monkeypatch):
  """A function that runs a benchmark; returns what it prints."""
  context = fork_server()
  monkeypatch.setattr(
    answering_sides.multiprocessing, "get_context", lambda unused_kind: context
  )

  def measured_apart(module, case, env=(), **unused_options):
    flags = *sys.argv[1:], f"--case={case}"
    run = start_program(module, *flags, environ=env).finish()
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])

  monkeypatch.setattr(repetitions, "measured_apart", measured_apart)

  def run(name, flags):
    succeed = succeeds_here if name in _RUN_HERE else succeeds
    return succeed(f"benchmarks.{name}", *flags.split()).stdout

  return run


def _rows(output):
  """Returns the cells of the last table, without its head."""
  lines = [line for line in output.splitlines() if line.startswith("|")]
  rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
  assert set("".join(rows[1])) <= {"-", ":"}
  assert all(len(row) == len(rows[0]) for row in rows)
  return rows[2:]


@pytest.mark.large
@pytest.mark.parametrize("name", _COMMANDS)
def test_a_benchmark_prints_its_rows(name, files, server, run_benchmark):
  if name in _NEED:
    pytest.importorskip(_NEED[name])
  flags, first_cells = _COMMANDS[name]
  paths = {**files, "address": server.address}
  rows = _rows(run_benchmark(name, flags.format(**paths)))
  assert rows
  if first_cells:
    assert [row[0] for row in rows] == first_cells


@pytest.mark.large
def test_training_is_measured_under_jax():
  pytest.importorskip("jax")
  flags = "--shapes=tiny --max_seq_length=64 --batch_size=1 --steps=1"
  run = succeeds("benchmarks.training", "--sides=jax", *flags.split())
  assert [row[2].split()[0] for row in _rows(run.stdout)] == ["jax"] * 3


@pytest.mark.large
def test_a_case_of_a_training_step_is_measured(run_benchmark):
  flags = "--shapes=tiny --batch_sizes=2 --lengths=8 --steps=3"
  (line,) = run_benchmark("training_step", flags).splitlines()
  result = json.loads(line)
  assert (result["shape"], result["batch_size"]) == ("tiny", 2)
  assert result["peak_mb"] > 0
  assert result["windows_a_second"] > 0


@pytest.mark.large
def test_the_parts_of_the_first_answer_are_timed(files):
  flags = (f"--model={files['model']}", "--repetitions=1")
  lines = succeeds("benchmarks.first_answer", *flags).stdout.splitlines()
  seconds = {line[:32].strip(): float(line.split()[-2]) for line in lines}
  assert len(seconds) == 7
  assert 0 < seconds["answer of ask"] < seconds["end of ask"]


def test_every_benchmark_is_run(repository):
  programs = {
    path.stem
    for path in (repository / "benchmarks").glob("*.py")
    if "def main(argv):" in path.read_text(encoding="utf-8")
  }
  assert programs == {*_COMMANDS, "training_step", "first_answer"}
