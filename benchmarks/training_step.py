r"""Peak memory and speed of training steps.

  python -m benchmarks.training_step --shapes=minilm --batch_sizes=8,16 \
    --lengths=128,384 [--precision=bfloat16] [--recompute]

Each case trains a random model of its shape for some steps, in a process of its
own, on batches of one length, with the training loop of run_squad. Measured is
the peak of that process: its resident memory, or on a GPU what TensorFlow had
allocated there. Prints one JSON line a case: peak_mb, and windows a second
without the first two steps. Run it once with and once without a flag to see
what the flag does.
"""

import itertools
import json
import subprocess
import sys
import time

from absl import flags

from bert_span.cli import program, training_flags

_SHAPES = flags.DEFINE_list(
  "shapes", ["minilm"], "Models to measure: mini, small, minilm, base, large."
)
_BATCH_SIZES = flags.DEFINE_list(
  "batch_sizes", ["8", "16"], "Windows in a batch, each to be measured."
)
_LENGTHS = flags.DEFINE_list(
  "lengths", ["128", "384"], "WordPieces of a window, each to be measured."
)
_TARGETS = flags.DEFINE_integer(
  "targets",
  0,
  "Masked WordPieces of a window: pre-training with the span boundary "
  "objective; 0 is fine-tuning.",
  lower_bound=0,
)
_STEPS = flags.DEFINE_integer(
  "steps", 4, "Training steps of a case.", lower_bound=3
)
_CASE = flags.DEFINE_string(
  "case", None, "One case as shape,batch,length, to be measured here."
)
training_flags.execution_flags()


def main(argv):
  """Measures every case in a process of its own, or the one of --case."""
  if _CASE.value:
    shape, batch_size, length = _CASE.value.split(",")
    print(json.dumps(_measure(shape, int(batch_size), int(length))))
    return
  from benchmarks.random_training import SHAPES

  for shape in _SHAPES.value:
    program.check(shape in SHAPES, f"--shapes must be of {', '.join(SHAPES)}.")
  for case in itertools.product(
    _SHAPES.value, _BATCH_SIZES.value, _LENGTHS.value
  ):
    print(_line_of(case), flush=True)


def run():
  """Entry point."""
  program.run_program(main)


def _line_of(case):
  """The last line that a process prints that measures a case."""
  process = subprocess.run(
    [
      *(sys.executable, "-m", "benchmarks.training_step", *sys.argv[1:]),
      f"--case={','.join(case)}",
    ],
    stdout=subprocess.PIPE,
    text=True,
    check=True,
  )
  return process.stdout.splitlines()[-1]


def _measure(shape, batch_size, length):
  """Trains one case; the dict that is printed."""
  from benchmarks.random_training import random_model
  from bert_span.training.step_memory import peak_bytes

  model = random_model(shape, pretraining=_TARGETS.value > 0)
  seconds = _seconds_a_step(model, batch_size, length)
  execution = training_flags.execution_options()
  return {
    "shape": shape,
    "batch_size": batch_size,
    "length": length,
    "precision": execution.precision,
    "accumulate_steps": execution.accumulate_steps,
    "recompute": execution.recompute,
    "targets": _TARGETS.value,
    "peak_mb": round(peak_bytes() / 1e6),
    "windows_a_second": round(batch_size / seconds, 2),
  }


def _seconds_a_step(model, batch_size, length):
  """Trains on random windows; seconds of a step, the first two left out."""
  from benchmarks.random_training import train_on_random_windows

  clock = _step_clock()
  train_on_random_windows(
    model,
    batch_size,
    length,
    _STEPS.value,
    training_flags.execution_options(),
    clock,
    targets=_TARGETS.value,
  )
  gaps = [after - before for before, after in itertools.pairwise(clock.times)]
  return sum(gaps[1:]) / len(gaps[1:])


def _step_clock():
  """A `Callback` with the attribute times, when each step had ended."""
  from bert_span.training.run.callbacks import Callback

  class StepClock(Callback):
    name = "clock"

    def __init__(self):
      self.times = []

    def is_due(self, step):
      del step
      return True

    def on_step(self, step):
      del step
      self.times.append(time.monotonic())

  return StepClock()


if __name__ == "__main__":
  run()
