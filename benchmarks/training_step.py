r"""Peak memory and speed of training steps, as run_squad makes them.

  python -m benchmarks.training_step --num_layers=6 --hidden_dim=384 \
    --num_heads=12 --train_batch_size=8 --max_seq_length=384 [--recompute]

Trains an encoder with random weights on random windows without padding and
prints one JSON line: the process's peak memory in MB when the model and Adam's
averages stood and at the end, and windows a second without the first two steps.
Run it once with and once without a flag to see what the flag does.
"""

import itertools
import json
import resource
import tempfile
import time

from absl import flags

from bert_span import program_flags, training_flags

_NUM_LAYERS = flags.DEFINE_integer("num_layers", 12, "Layers.", lower_bound=1)
_HIDDEN_DIM = flags.DEFINE_integer(
  "hidden_dim", 768, "Width; a feed-forward layer is 4 times as wide."
)
_NUM_HEADS = flags.DEFINE_integer("num_heads", 12, "Attention heads.")
_MAX_SEQ_LENGTH = flags.DEFINE_integer(
  "max_seq_length", 384, "WordPieces of every window.", lower_bound=3
)
_TRAIN_BATCH_SIZE = flags.DEFINE_integer(
  "train_batch_size", 8, "Windows in a batch.", lower_bound=1
)
_STEPS = flags.DEFINE_integer("steps", 4, "Steps, at least 3.", lower_bound=3)
_VOCABULARY_SIZE = 30522
training_flags.execution_flags()
training_flags.device_flags()
flags.adopt_module_key_flags(training_flags)


def main(argv):
  """Trains for some steps and prints what they took."""
  program_flags.refuse_arguments(argv)
  training_flags.check_device_flags(_TRAIN_BATCH_SIZE.value)
  from bert_span.training import progress

  strategy = training_flags.make_strategy(
    _TRAIN_BATCH_SIZE.value, progress.log_line
  )
  model = _model(strategy)
  with tempfile.TemporaryDirectory() as folder:
    before, seconds = _train(model, strategy, folder)
  execution = training_flags.execution_options()
  row = {
    "precision": execution.precision,
    "recompute": execution.recompute,
    "accumulate_steps": execution.accumulate_steps,
    "weights": model.count_params(),
    "peak_before_mb": round(before / 1e6),
    "peak_mb": round(_peak_bytes() / 1e6),
    "windows_a_second": round(_TRAIN_BATCH_SIZE.value / seconds, 2),
  }
  print(json.dumps(row))


def run():
  """Entry point."""
  program_flags.run_program(main)


def _model(strategy):
  from bert_span.modeling.encoder import build_encoder
  from bert_span.modeling.encoder_config import EncoderConfig
  from bert_span.modeling.span_model import build_span_model
  from bert_span.training.strategy import scope_of

  with scope_of(strategy):
    return build_span_model(
      build_encoder(
        EncoderConfig(
          vocabulary_size=_VOCABULARY_SIZE,
          num_layers=_NUM_LAYERS.value,
          num_heads=_NUM_HEADS.value,
          hidden_dim=_HIDDEN_DIM.value,
          intermediate_dim=4 * _HIDDEN_DIM.value,
          max_sequence_length=_MAX_SEQ_LENGTH.value,
          num_segments=2,
        )
      )
    )


def _train(model, strategy, folder):
  """Makes the steps.

  Returns:
    Peak memory in bytes before the first, and the seconds of a step.
  """
  from bert_span.fine_tuning import span_loss_fn
  from bert_span.modeling.precision import computing_in
  from bert_span.modeling.recompute import recomputing_layers
  from bert_span.training.loop import Trainer, TrainOptions
  from bert_span.training.optimizer import create_optimizer
  from bert_span.training.strategy import scope_of

  execution = training_flags.execution_options()
  times = []
  with (
    computing_in(model.backbone, execution.precision),
    recomputing_layers(model.backbone, execution.recompute),
  ):
    with scope_of(strategy):
      optimizer = create_optimizer(1e-5)
    trainer = Trainer(
      model,
      span_loss_fn("mean"),
      optimizer,
      TrainOptions(_STEPS.value, _TRAIN_BATCH_SIZE.value, execution=execution),
      folder,
      strategy=strategy,
    )
    before = _peak_bytes()
    trainer.train(lambda first_step: _batches(first_step, times))
  gaps = [b - a for a, b in itertools.pairwise(times)]
  return before, sum(gaps[1:]) / len(gaps[1:])


def _batches(first_step, times):
  """Random windows without padding; notes when each batch is asked for."""
  import numpy as np
  import tensorflow as tf

  shape = (_TRAIN_BATCH_SIZE.value, _MAX_SEQ_LENGTH.value)

  def generate():
    for step in itertools.count(first_step):
      times.append(time.monotonic())
      rng = np.random.default_rng(step)
      yield {
        "input_ids": rng.integers(0, _VOCABULARY_SIZE, shape, np.int32),
        "input_mask": np.ones(shape, np.int32),
        "segment_ids": np.zeros(shape, np.int32),
        "start_positions": rng.integers(0, shape[1], shape[:1], np.int32),
        "end_positions": rng.integers(0, shape[1], shape[:1], np.int32),
      }

  names = ("input_ids", "input_mask", "segment_ids")
  spec = {name: tf.TensorSpec(shape, tf.int32) for name in names}
  for name in ("start_positions", "end_positions"):
    spec[name] = tf.TensorSpec(shape[:1], tf.int32)
  return tf.data.Dataset.from_generator(generate, output_signature=spec)


def _peak_bytes():
  """The most memory this process has had, in bytes."""
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
  run()
