r"""Time of a training step by type of op, with TensorFlow's profiler.

  python -m benchmarks.training_profile --shape=minilm --batch_size=16 \
    --length=192 [--precision=bfloat16] [--trace_dir=/tmp/trace]

Smallest setting:
  python -m benchmarks.training_profile --shape=tiny --batch_size=1 --length=8 \
    --warm_up=1 --steps=1

Trains a random model of the shape with the training loop of run_squad, for
--warm_up steps without and --steps with the profiler. Prints milliseconds per
step on the clock and, for each type of op with at least 1 % of the time in
ops, how often it runs in a step and its own milliseconds, without those of ops
inside it. The sum may exceed the clock's time: ops run side by side, and an op
counts until the threads that help it are done. --trace_dir keeps the trace for
TensorBoard's Profile tab.
"""

import tempfile
import time

from absl import flags

from benchmarks.inputs import count_flag
from benchmarks.machine import describe_machine
from benchmarks.op_times import OpTimes, read_trace
from benchmarks.random_models import SHAPES, random_encoder, random_span_model
from bert_span.cli import program
from bert_span.cli.flags import define_flags, read_flags
from bert_span.training.options import ExecutionOptions

_SHAPE = flags.DEFINE_enum("shape", "minilm", list(SHAPES), "Model to train.")
_BATCH_SIZE = count_flag("batch_size", 16, "Windows per batch.")
_LENGTH = flags.DEFINE_integer(
  "length", 192, "WordPieces of a window.", lower_bound=8
)
_WARM_UP = count_flag("warm_up", 3, "Steps without the profiler.")
_STEPS = count_flag("steps", 5, "Steps with the profiler.")
_TRACE_DIR = flags.DEFINE_string(
  "trace_dir", None, "Directory for the trace; by default it is removed."
)
define_flags(ExecutionOptions)


def main(argv):
  """Trains with the profiler and prints the table."""
  from benchmarks.random_training import train_on_random_windows

  print(describe_machine("tensorflow", "keras"))
  with tempfile.TemporaryDirectory() as scratch:
    trace_dir = _TRACE_DIR.value or scratch
    profiler = _profiler(trace_dir)
    train_on_random_windows(
      random_span_model(random_encoder(SHAPES[_SHAPE.value])),
      _BATCH_SIZE.value,
      _LENGTH.value,
      _WARM_UP.value + _STEPS.value,
      read_flags(ExecutionOptions),
      profiler,
    )
    times = OpTimes(read_trace(trace_dir), lambda name, kind: (kind,))
    per_step, per_step_in_ops = (
      1e3 * seconds / _STEPS.value
      for seconds in (profiler.seconds, sum(times.seconds.values()))
    )
    print(
      f"{_SHAPE.value}, {_BATCH_SIZE.value} windows of {_LENGTH.value} "
      f"WordPieces: {per_step:.0f} ms per step, {per_step_in_ops:.0f} ms in ops"
    )
    times.print_table(_STEPS.value, "op")


def _profiler(trace_dir):
  """Returns a `Callback` that profiles the steps and keeps their seconds."""
  import tensorflow as tf

  from bert_span.training.callbacks import Callback

  class Profiler(Callback):
    name = "profiler"
    seconds = None

    def is_due(self, step):
      return step in (_WARM_UP.value, _WARM_UP.value + _STEPS.value)

    def on_step(self, step):
      if step == _WARM_UP.value:
        tf.profiler.experimental.start(trace_dir)
        self._begin = time.perf_counter()
      else:
        self.seconds = time.perf_counter() - self._begin
        tf.profiler.experimental.stop()

  return Profiler()


if __name__ == "__main__":
  program.run_program(main)
