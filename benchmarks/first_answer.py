r"""Seconds from the command to the first answer, and where they go.

  python -m benchmarks.first_answer [--model=minilm_squad] [--repetitions=5]

Smallest setting:
  python -m benchmarks.first_answer --model=minilm_squad --repetitions=1

Prints medians over new processes: `python -m bert_span.ask` with one question,
until its answer is printed and until it ends; and a process that does the same
part by part.
"""

import os
import statistics
import subprocess
import sys
import time

from absl import flags

from benchmarks.inputs import count_flag
from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or name of a model."
)
_REPETITIONS = count_flag("repetitions", 5, "Processes of each kind.")
_QUESTION, _CONTEXT = "Who came?", "John Smith came in 1895."
_PARTS = f"""
import sys, time
times = [time.perf_counter()]
import keras
times.append(time.perf_counter())
from bert_span.extractors.span_extractor import SpanExtractor
times.append(time.perf_counter())
extractor = SpanExtractor.from_preset(sys.argv[1])
times.append(time.perf_counter())
extractor.answer({_QUESTION!r}, {_CONTEXT!r})
times.append(time.perf_counter())
extractor.answer({_QUESTION!r}, {_CONTEXT!r})
times.append(time.perf_counter())
print(*(b - a for a, b in zip(times, times[1:])))
"""
_NAMES = (
  *("answer of ask", "end of ask"),
  *("imports of TensorFlow and Keras", "imports of the rest", "model"),
  *("first answer, traced", "second answer"),
)


def main(argv):
  """Runs the processes in turns and prints the table."""
  runs = [(*_ask(), *_parts()) for _ in range(_REPETITIONS.value)]
  for name, seconds in zip(_NAMES, zip(*runs, strict=True), strict=True):
    print(f"{name:<32} {statistics.median(seconds):6.2f} s")


def _ask():
  """Returns the seconds to the first line and to the end."""
  begin = time.perf_counter()
  command = [
    *(sys.executable, "-m", "bert_span.ask", f"--model={_MODEL.value}"),
    *(f"--question={_QUESTION}", f"--context={_CONTEXT}"),
  ]
  environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
  with subprocess.Popen(
    command, stdout=subprocess.PIPE, env=environment
  ) as process:
    if not process.stdout.readline():
      raise ValueError(f"{' '.join(command)} printed no answer.")
    answered = time.perf_counter() - begin
    process.stdout.read()
  return answered, time.perf_counter() - begin


def _parts():
  run = subprocess.run(
    [sys.executable, "-c", _PARTS, _MODEL.value],
    stdout=subprocess.PIPE,
    text=True,
    check=True,
  )
  return tuple(map(float, run.stdout.split()))


if __name__ == "__main__":
  program.run_program(main)
