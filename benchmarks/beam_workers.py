r"""Speed, memory and start of beam_predict's workers, and what many would cost.

  python -m benchmarks.beam_workers

Runs beam_predict on the portable runner with one and with two worker processes
of one thread each, then with one worker on short passages, without and with a
passage of a million characters among them (a random encoder of one layer).
Prints the tables of docs/results.md. Needs Linux, whose /proc has the workers'
memory and processor time.
"""

import dataclasses
import glob
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from absl import flags

from benchmarks.inputs import read_pairs
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_MODEL = flags.DEFINE_string("model", "minilm_squad", "As in beam_predict.")
_QUESTIONS = flags.DEFINE_integer(
  "questions", 240, "Questions of the speed table.", lower_bound=1
)
_SHORT = flags.DEFINE_integer(
  "short_passages", 10_000, "Short passages of the memory table.", lower_bound=1
)
_DOLLARS = flags.DEFINE_float("dollars", 0.05, "Price of a core-hour.")
_ONE_THREAD = {
  "TF_NUM_INTRAOP_THREADS": "1",
  "TF_NUM_INTEROP_THREADS": "1",
  "OMP_NUM_THREADS": "1",
}
# As beam_predict logs them.
_RATE = re.compile(r"([\d.]+) s of answering .* after ([\d.]+) s of loading")


@dataclasses.dataclass(frozen=True)
class _Run:
  questions: int
  workers: int
  seconds: float  # from the command to its end
  answering: float  # seconds of all workers together
  loading: float  # seconds of all workers together
  processor: float  # seconds of all workers together
  memory: float  # MB of the largest worker at its peak


def main(argv):
  """Runs all and prints the tables."""
  program.import_tensorflow()
  from benchmarks.random_models import random_extractor

  with tempfile.TemporaryDirectory() as folder:
    rows = _sample_rows(_QUESTIONS.value)
    runs = [_run(folder, _MODEL.value, rows, workers) for workers in (1, 2)]
    _print_speeds(runs, _shuffled_bytes(rows))
    _print_costs(runs[0])
    model = os.path.join(folder, "random_model")
    random_extractor().save_to_preset(model)
    short = [
      {"id": f"s{i}", "question": "Who?", "context": f"Anna met {i}. " * 15}
      for i in range(_SHORT.value)
    ]
    long = {"id": "long", "question": "Who?", "context": "Anna met. " * 100_000}
    for rows in (short, [*short, long]):
      run = _run(folder, model, rows, 1)
      print(f"{len(rows)} passages: {run.memory:.0f} MB", flush=True)


def _sample_rows(number):
  found = itertools.islice(itertools.cycle(read_pairs(None)), number)
  return [
    {"id": f"q{i}", "question": question, "context": context}
    for i, (question, context) in enumerate(found)
  ]


def _run(folder, model, rows, workers):
  folder = tempfile.mkdtemp(dir=folder)
  path = pathlib.Path(folder, "rows.jsonl")
  path.write_text("".join(json.dumps(row) + "\n" for row in rows))
  command = [
    *(sys.executable, "-m", "bert_span.beam_predict", f"--model={model}"),
    *(f"--input={path}", f"--output_dir={folder}/answers"),
    *("--num_shards=8", f"--direct_num_workers={workers}"),
    "--direct_running_mode=multi_processing",
  ]
  log, usage, start = pathlib.Path(folder, "log"), {}, time.monotonic()
  with open(log, "w", encoding="utf-8") as file:
    job = subprocess.Popen(
      command, stderr=file, env={**os.environ, **_ONE_THREAD, "TMPDIR": folder}
    )
    while job.poll() is None:
      usage.update(_usage_of_workers(folder))
      time.sleep(0.1)
  text = log.read_text(encoding="utf-8")
  program.check(job.returncode == 0, text)
  answering, loading = map(float, _RATE.search(text).groups())
  return _Run(
    questions=len(rows),
    workers=workers,
    seconds=time.monotonic() - start,
    answering=answering,
    loading=loading,
    processor=sum(seconds for _, seconds in usage.values()),
    memory=max(megabytes for megabytes, _ in usage.values()),
  )


def _usage_of_workers(job_folder):
  """MB at the peak and processor seconds of each worker, by process id."""
  usage = {}
  for folder in glob.glob("/proc/[0-9]*"):
    try:
      read = {
        name: pathlib.Path(folder, name).read_text(encoding="utf-8")
        for name in ("cmdline", "stat", "status", "environ")
      }
    except OSError:  # It has ended.
      continue
    # A worker is started by a shell, to which its module is no own argument.
    command = read["cmdline"].split("\0")
    is_worker = "apache_beam.runners.worker.sdk_worker_main" in command
    if not is_worker or job_folder not in read["environ"]:
      continue
    peak = re.search(r"VmHWM:\s+(\d+)", read["status"])
    ticks = read["stat"].rpartition(")")[2].split()[11:13]
    if peak:
      seconds = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
      usage[folder] = (int(peak[1]) / 1024, seconds)
  return usage


def _shuffled_bytes(rows):
  """Bytes of a question in the shuffle, as Beam encodes it; a mean."""
  from apache_beam.coders import FastPrimitivesCoder

  from bert_span.beam.question_files import LocatedQuestion, RecordLocation
  from bert_span.squad.example import SquadExample

  coder = FastPrimitivesCoder()
  size = 0
  for number, row in enumerate(rows, 1):
    at = RecordLocation("/questions/00003.jsonl", number)
    example = SquadExample(row["id"], row["question"], row["context"])
    size += len(coder.encode((3, LocatedQuestion(at, example))))
  return size / len(rows)


def _print_speeds(runs, shuffled):
  print_head(
    *("workers", "questions/s", "questions a processor second"),
    *("MB a worker", "seconds of start", "of which loading"),
  )
  for run in runs:
    answering = run.answering / run.workers
    print_row(
      run.workers,
      f"{run.questions / answering:.1f}",
      f"{run.questions / run.processor:.1f}",
      f"{run.memory:.0f}",
      f"{run.seconds - answering:.0f}",
      f"{run.loading / run.workers:.1f}",
    )
  print(f"{shuffled:.0f} bytes shuffled a question", flush=True)


def _print_costs(run):
  """From one worker's processor time, with its start; a worker is a core."""
  print_head(
    *("passages", "core-hours", "dollars"),
    "workers at which the start is a tenth of the time",
  )
  start = run.seconds - run.answering
  for passages in (10**6, 10**9):
    seconds = passages * run.processor / run.questions
    hours = seconds / 3600
    figures = (passages, hours, hours * _DOLLARS.value, seconds / (9 * start))
    print_row(*(f"{figure:,.0f}" for figure in figures))


if __name__ == "__main__":
  program.run_program(main)
