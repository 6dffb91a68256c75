r"""Seconds from the command to the first answer, and where they go.

  python -m benchmarks.first_answer [--model=minilm_squad] [--repetitions=5]

Prints medians over new processes: `python -m bert_span.ask` with one question,
until its answer is printed and until it ends; and a process that does the same
part by part, without and with a graph.
"""

import os
import statistics
import subprocess
import sys
import time

from absl import flags

from bert_span.cli import program

_MODEL = flags.DEFINE_string(
  "model", "minilm_squad", "Model directory, or name of a model."
)
_REPETITIONS = flags.DEFINE_integer(
  "repetitions", 5, "Processes of each kind.", lower_bound=1
)
_QUESTION, _CONTEXT = "Who came?", "John Smith came in 1895."
_PARTS = f"""
import os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
times = [time.perf_counter()]
from bert_span.cli.program import import_tensorflow
import_tensorflow()
times.append(time.perf_counter())
from bert_span.jobs import ask
times.append(time.perf_counter())
extractor = ask.SpanExtractor.from_preset(sys.argv[1])
times.append(time.perf_counter())
for op_by_op in (True, False):
  ask.tf.config.run_functions_eagerly(op_by_op)
  extractor.answer({_QUESTION!r}, {_CONTEXT!r})
  times.append(time.perf_counter())
print(*(b - a for a, b in zip(times, times[1:])))
"""
_NAMES = (
  "imports of TensorFlow and Keras",
  "imports of the rest",
  "model",
  "first answer op by op",
  "first answer by the graph, traced",
)


def main(argv):
  """Runs the processes one after the other and prints the table."""
  asked, parts = [], []
  for _ in range(_REPETITIONS.value):
    asked.append(_ask())
    parts.append(_parts())
  rows = zip(("answer of ask", "end of ask"), _medians(asked), strict=True)
  for name, seconds in (*rows, *zip(_NAMES, _medians(parts), strict=True)):
    print(f"{name:<34} {seconds:6.2f} s")


def _ask():
  """Seconds to the first line and to the end."""
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
      raise RuntimeError(f"{' '.join(command)} printed no answer.")
    answered = time.perf_counter() - begin
    process.stdout.read()
  return answered, time.perf_counter() - begin


def _parts():
  run = subprocess.run(
    [sys.executable, "-c", _PARTS, _MODEL.value],
    capture_output=True,
    text=True,
    check=True,
  )
  return tuple(map(float, run.stdout.split()))


def _medians(rows):
  return map(statistics.median, zip(*rows, strict=True))


if __name__ == "__main__":
  program.run_program(main)
