r"""Speed, memory and start of beam_predict's workers.

  python -m benchmarks.beam_workers

Smallest setting:
  python -m benchmarks.beam_workers --model=minilm_squad --workers=1 \
    --questions=2 --short_passages=0

Runs beam_predict on the portable runner with each number of worker processes of
one thread, then with one worker on short passages, without and with a passage
of a million characters among them (a random encoder of one layer).
Needs Linux, whose /proc has the workers' memory and processor time.
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

from benchmarks.inputs import check, count_flag, read_pairs, whole_numbers
from benchmarks.tables import print_head, print_row
from bert_span.cli import program
from bert_span.options.extras import check_extra

_MODEL = flags.DEFINE_string("model", "minilm_squad", "As in beam_predict.")
_WORKERS = flags.DEFINE_list("workers", ["1", "2"], "Numbers of workers.")
_QUESTIONS = count_flag("questions", 240, "Questions of the speed table.")
_SHORT = flags.DEFINE_integer(
  "short_passages",
  10_000,
  "Short passages of the memory runs; 0 skips them.",
  lower_bound=0,
)
_ONE_THREAD = dict.fromkeys(
  ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"), "1"
)
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
  """Runs all, and prints a table and the memory."""
  check_extra("beam", "apache_beam")
  from benchmarks.random_models import random_extractor

  workers = whole_numbers(_WORKERS)
  with tempfile.TemporaryDirectory() as folder:
    pairs = itertools.cycle(read_pairs(None))
    rows = [
      {"id": f"q{i}", "question": question, "context": context}
      for i, (question, context) in zip(
        range(_QUESTIONS.value), pairs, strict=False
      )
    ]
    runs = [_run(folder, _MODEL.value, rows, n) for n in workers]
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
    if not _SHORT.value:
      return
    model = os.path.join(folder, "random_model")
    random_extractor().save_to_preset(model)
    short = [
      {"id": f"s{i}", "question": "Who?", "context": f"Anna met {i}. " * 15}
      for i in range(_SHORT.value)
    ]
    long = {"id": "long", "question": "Who?", "context": "Anna met. " * 100_000}
    for rows in (short, [*short, long]):
      memory = _run(folder, model, rows, 1).memory
      print(f"{len(rows)} passages: {memory:.0f} MB", flush=True)


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
  check(job.returncode == 0, text)
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


if __name__ == "__main__":
  program.run_program(main)
