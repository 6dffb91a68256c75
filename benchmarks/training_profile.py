r"""Time of a training step by type of op, with TensorFlow's profiler.

  python -m benchmarks.training_profile --shape=minilm --batch_size=16 \
    --length=192 [--precision=bfloat16] [--trace_dir=/tmp/trace]

Smallest setting:
  python -m benchmarks.training_profile --shape=tiny --batch_size=1 --length=8 \
    --warm_up=1 --steps=1

Trains a random model of the shape with the training loop of run_squad, for
--warm_up steps without and --steps with the profiler. Prints milliseconds per
step on the clock and, for each type of op with more than 1 % of the time in
ops, its own milliseconds per step, without those of ops inside it. The sum may
exceed the clock's time: ops run side by side, and an op counts until the
threads that help it are done. --trace_dir keeps the trace for TensorBoard's
Profile tab.
"""

import collections
import os
import re
import tempfile
import time

from absl import flags

from benchmarks.inputs import count_flag
from benchmarks.machine import describe_machine
from benchmarks.random_models import SHAPES, random_encoder, random_span_model
from benchmarks.tables import print_head, print_row
from bert_span.cli import program
from bert_span.cli.option_flags import define_flags, read_flags
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
_LEAST_SHARE = 0.01
# Matches ops, not methods of the runtime (Class::Method).
_OP = re.compile(r"[^:]+:(?P<type>\w+)")
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
    print_table(own_seconds(read_trace(trace_dir)), profiler.seconds)


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


def read_trace(trace_dir):
  """Returns the newest trace in the profiler's directory, an `XSpace`."""
  import tensorflow as tf
  from tensorflow.tsl.profiler.protobuf import xplane_pb2

  pattern = os.path.join(trace_dir, "plugins", "profile", "*", "*.xplane.pb")
  with tf.io.gfile.GFile(max(tf.io.gfile.glob(pattern)), "rb") as file:
    return xplane_pb2.XSpace.FromString(file.read())


def own_seconds(trace):
  """Adds up the seconds in ops of each type, over all threads.

  Args:
    trace: `XSpace`. Ops are events with the name "name:type".

  Returns:
    Counter of seconds by type. The time of ops inside an op, such as those of a
    function that it calls, counts only for them.
  """
  seconds = collections.Counter()
  for plane in trace.planes:
    for line in plane.lines:
      ops = []
      for event in line.events:
        op = _OP.fullmatch(plane.event_metadata[event.metadata_id].name)
        if op:
          ops.append((event.offset_ps, event.duration_ps, op["type"]))
      _add_own_seconds(ops, seconds)
  return seconds


def _add_own_seconds(ops, seconds):
  """Adds the ops of a thread; an op inside another begins after it."""
  around = []  # End and type of the ops around the next one.
  for begin, duration, kind in sorted(ops, key=lambda op: (op[0], -op[1])):
    while around and around[-1][0] <= begin:
      around.pop()
    seconds[kind] += duration * 1e-12
    if around:
      seconds[around[-1][1]] -= duration * 1e-12
    around.append((begin + duration, kind))


def print_table(seconds, clock_seconds):
  """Prints the `own_seconds` and the time of the steps on the clock."""
  total = sum(seconds.values())

  def per_step(spent):
    return f"{1e3 * spent / _STEPS.value:.0f}"

  print(
    f"{_SHAPE.value}, {_BATCH_SIZE.value} windows of {_LENGTH.value} "
    f"WordPieces: {per_step(clock_seconds)} ms per step, "
    f"{per_step(total)} ms in ops"
  )
  print_head("op", "ms per step", "share", text=("op",))
  for kind, spent in seconds.most_common():
    if spent < _LEAST_SHARE * total:
      break
    print_row(kind, per_step(spent), f"{100 * spent / total:.0f} %")


if __name__ == "__main__":
  program.run_program(main)
