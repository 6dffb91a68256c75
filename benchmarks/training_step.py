r"""Peak memory and speed of training steps.

  python -m benchmarks.training_step --shapes=minilm --batch_sizes=8,16 \
    --lengths=128,384 [--precision=bfloat16] [--recompute]

Smallest setting:
  python -m benchmarks.training_step --shapes=tiny --batch_sizes=2 --lengths=8 \
    --steps=3

Each case trains a random model of its shape for some steps in its own process,
on batches of one length, with the training loop of run_squad. Prints one JSON
line per case: the peak of resident memory or, on a GPU, of TensorFlow's
allocations; and windows per second without the first two steps. Run it with and
without a flag to see the flag's effect.
"""

import itertools
import json

from absl import flags

from benchmarks.inputs import check_known
from benchmarks.random_models import SHAPES, random_encoder, random_span_model
from benchmarks.repetitions import measured_apart
from bert_span.cli import program
from bert_span.cli.flags import define_flags, read_flags
from bert_span.training.options import ExecutionOptions

_SHAPES = flags.DEFINE_list(
  "shapes", ["minilm"], f"Models to measure, of {', '.join(SHAPES)}."
)
_BATCH_SIZES = flags.DEFINE_list(
  "batch_sizes", ["8", "16"], "Windows per batch, all to measure."
)
_LENGTHS = flags.DEFINE_list(
  "lengths", ["128", "384"], "WordPieces of a window, all to measure."
)
_TARGETS = flags.DEFINE_integer(
  "targets",
  0,
  "Masked WordPieces of a window, for pre-training with the span boundary "
  "objective; 0 is fine-tuning.",
  lower_bound=0,
)
_STEPS = flags.DEFINE_integer(
  "steps", 4, "Training steps per case.", lower_bound=3
)
_CASE = flags.DEFINE_string(
  "case", None, "One case to measure: shape,batch,length."
)
define_flags(ExecutionOptions)


def main(argv):
  """Measures each case in its own process, or the one of --case."""
  if _CASE.value:
    shape, batch_size, length = _CASE.value.split(",")
    print(json.dumps(_measure(shape, int(batch_size), int(length))))
    return
  check_known(_SHAPES, SHAPES)
  for case in itertools.product(
    _SHAPES.value, _BATCH_SIZES.value, _LENGTHS.value
  ):
    result = measured_apart("benchmarks.training_step", ",".join(case))
    print(json.dumps(result), flush=True)


def _measure(shape, batch_size, length):
  """Trains one case; returns the dict to print."""
  from benchmarks.random_training import seconds_per_step
  from bert_span.jobs.dry_run import peak_bytes
  from bert_span.pretraining.model import PretrainingModel

  with_head = PretrainingModel if _TARGETS.value else random_span_model
  model = with_head(random_encoder(SHAPES[shape]))
  execution = read_flags(ExecutionOptions)
  seconds = seconds_per_step(
    model, batch_size, length, _STEPS.value, execution, _TARGETS.value
  )
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


if __name__ == "__main__":
  program.run_program(main)
