r"""Seconds from the command to the first answer, and where they go.

  python -m benchmarks.first_answer [--model=minilm_squad] [--repetitions=5]

Smallest setting:
  python -m benchmarks.first_answer --model=minilm_squad --repetitions=1

Prints medians over new processes: `python -m bert_span.ask` with one question,
until its answer is printed and until it ends; and a process that does the same
part by part, also in seconds of processor time, of all its threads.
"""

import os
import subprocess
import sys
import time

import numpy as np
from absl import flags

from benchmarks.inputs import count_flag
from benchmarks.tables import print_head, print_row
from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or name of a model."
)
_REPETITIONS = count_flag("repetitions", 5, "Processes of each kind.")
_QUESTION, _CONTEXT = "Who came?", "John Smith came in 1895."
# Imports in the order in which `ask` needs them, so that each is counted once.
_PARTS = f"""
import sys, time
clocks = []
def measure():
  clocks.append((time.perf_counter(), time.process_time()))
measure()
import tensorflow  # which imports Keras
measure()
import tensorflow_text
measure()
import keras_hub
measure()
from bert_span.extractors.span_extractor import SpanExtractor
measure()
extractor = SpanExtractor.from_preset(sys.argv[1])
measure()
extractor.answer({_QUESTION!r}, {_CONTEXT!r})
measure()
extractor.answer({_QUESTION!r}, {_CONTEXT!r})
measure()
for before, after in zip(clocks, clocks[1:]):
  print(*(b - a for a, b in zip(before, after)))
"""
_NAMES = (
  *("import of TensorFlow and Keras", "import of tensorflow-text"),
  *("import of KerasHub", "import of bert_span", "the model: layers, weights"),
  *("first answer: traced", "second answer"),
)


def main(argv):
  """Runs the processes in turns and prints the tables."""
  runs = [(_ask(), _parts()) for _ in range(_REPETITIONS.value)]
  asked, parts = (np.median(kind, axis=0) for kind in zip(*runs, strict=True))
  print_head("`ask` with one question", "s", text=("`ask` with one question",))
  names = ("until the answer is printed", "until it has ended")
  for name, seconds in zip(names, asked, strict=True):
    print_row(name, f"{seconds:.2f}")
  head = "part, in another process"
  print_head(head, "s", "processor time, s", text=(head,))
  for name, seconds in zip(_NAMES, parts, strict=True):
    print_row(name, *(f"{value:.2f}" for value in seconds))


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
  lines = run.stdout.splitlines()
  return [list(map(float, line.split())) for line in lines]


if __name__ == "__main__":
  program.run_program(main)
