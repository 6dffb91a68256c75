r"""Peak memory and speed of training steps, beside what --dry_run estimates.

  python -m benchmarks.training_step --shapes=minilm --batch_sizes=8,16 \
    --lengths=128,384 [--precision=bfloat16] [--recompute]

Each case trains a random model of its shape for some steps, in a process of its
own, on batches of one length, with the training loop of run_squad. Measured is
the peak of that process: its resident memory, or on a GPU what TensorFlow had
allocated there. Prints one JSON line a case: measured_mb, estimate_mb, and
error, the share by which the estimate is too high (above 0) or too low; and
windows a second without the first two steps. Run it once with and once without
a flag to see what the flag does.
"""

import dataclasses
import itertools
import json
import subprocess
import sys
import tempfile
import time

from absl import flags

from bert_span import device_flags, programs

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
# Layers, width, heads, width of the feed-forward part.
_SIZES = {
  "mini": (4, 256, 4, 1024),
  "small": (4, 512, 8, 2048),
  "minilm": (6, 384, 12, 1536),
  "base": (12, 768, 12, 3072),
  "large": (24, 1024, 16, 4096),
}
_VOCABULARY_SIZE = 30522
device_flags.execution_flags()
flags.adopt_module_key_flags(device_flags)


def main(argv):
  """Measures every case in a process of its own, or the one of --case."""
  programs.refuse_arguments(argv)
  if _CASE.value:
    shape, batch_size, length = _CASE.value.split(",")
    print(json.dumps(_measure(shape, int(batch_size), int(length))))
    return
  for shape in _SHAPES.value:
    programs.check(shape in _SIZES, f"--shapes must be of {', '.join(_SIZES)}.")
  for case in itertools.product(
    _SHAPES.value, _BATCH_SIZES.value, _LENGTHS.value
  ):
    print(_line_of(case), flush=True)


def run():
  """Entry point."""
  programs.run_program(main)


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
  from bert_span.dry_run import model_sizes
  from bert_span.training.device_memory import local_device, peak_bytes
  from bert_span.training.memory_estimate import StepOptions, estimate_memory

  model = _model(shape)
  seconds = _train(model, batch_size, length)
  measured = peak_bytes()
  sizes = dataclasses.replace(
    model_sizes(model), vocabulary_targets=2 * _TARGETS.value
  )
  execution = device_flags.execution_options()
  how = {
    "precision": execution.precision,
    "accumulate_steps": execution.accumulate_steps,
    "recompute": execution.recompute,
  }
  estimate = estimate_memory(
    sizes,
    StepOptions(batch_size, length, **how),
    local_device().program_bytes,
  )
  return {
    "shape": shape,
    "batch_size": batch_size,
    "length": length,
    **how,
    "targets": _TARGETS.value,
    "estimate_mb": round(estimate.total / 1e6),
    "measured_mb": round(measured / 1e6),
    "error": round(estimate.total / measured - 1, 3),
    "windows_a_second": round(batch_size / seconds, 2),
  }


def _model(shape):
  from bert_span.modeling.encoder import build_encoder
  from bert_span.modeling.encoder_config import EncoderConfig
  from bert_span.modeling.pretraining_model import PretrainingModel
  from bert_span.modeling.span_model import build_span_model

  layers, hidden, heads, intermediate = _SIZES[shape]
  encoder = build_encoder(
    EncoderConfig(
      vocabulary_size=_VOCABULARY_SIZE,
      num_layers=layers,
      num_heads=heads,
      hidden_dim=hidden,
      intermediate_dim=intermediate,
      num_segments=2,
    )
  )
  return (
    PretrainingModel(encoder) if _TARGETS.value else build_span_model(encoder)
  )


def _train(model, batch_size, length):
  """Trains on random windows, as run_squad or run_pretraining does.

  Returns:
    Seconds of a step, the first two left out.
  """
  from bert_span.fine_tuning import span_loss_fn
  from bert_span.modeling.precision import computing_in
  from bert_span.modeling.recompute import recomputing_layers
  from bert_span.pretraining import pretraining_loss_fn
  from bert_span.training.loop import Trainer
  from bert_span.training.optimizer import create_optimizer
  from bert_span.training.train_options import TrainOptions

  execution = device_flags.execution_options()
  clock = _step_clock()
  with (
    tempfile.TemporaryDirectory() as output_dir,
    computing_in(model.backbone, execution.precision),
    recomputing_layers(model.backbone, execution.recompute),
  ):
    Trainer(
      model,
      pretraining_loss_fn(1.0) if _TARGETS.value else span_loss_fn("mean"),
      create_optimizer(1e-5),
      TrainOptions(_STEPS.value, batch_size, execution=execution),
      output_dir,
      callbacks=[clock],
    ).train(lambda unused_first_step: _batches(batch_size, length))
  gaps = [after - before for before, after in itertools.pairwise(clock.times)]
  return sum(gaps[1:]) / len(gaps[1:])


def _step_clock():
  """A `Callback` with the attribute times, when each step had ended."""
  from bert_span.training.callbacks import Callback

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


def _batches(batch_size, length):
  """Endless batches of random numbers, in the form of the two programs."""
  import tensorflow as tf

  tokens, targets = [batch_size, length], [batch_size, _TARGETS.value]
  # Name -> shape and what its numbers stay below.
  numbers = {
    "input_ids": (tokens, _VOCABULARY_SIZE),
    "segment_ids": (tokens, 2),
    "start_positions": ([batch_size], length),
    "end_positions": ([batch_size], length),
    "masked_ids": (targets, _VOCABULARY_SIZE),
    "masked_positions": (targets, length),
    "sbo_lefts": (targets, length),
    "sbo_rights": (targets, length),
    "sbo_positions": (targets, 10),
  }
  ones = {
    "input_mask": tf.ones(tokens, tf.int32),
    "mlm_weights": tf.ones(targets),
    "sbo_weights": tf.ones(targets),
  }

  def batch_of(step):
    seed = tf.stack([tf.constant(1, tf.int64), step])
    batch = {
      name: tf.random.stateless_uniform(shape, seed, 0, most, tf.int32)
      for name, (shape, most) in numbers.items()
    }
    return {**batch, **ones}

  return tf.data.Dataset.counter(dtype=tf.int64).map(batch_of).prefetch(1)


if __name__ == "__main__":
  run()
