"""Trains on two parts of this CPU and on the whole of it; prints JSON.

A separate process for strategy_test.py: how many devices a CPU has must be
said before TensorFlow begins.

  python tests/support/distributed_checks.py FOLDER
"""

import functools
import json
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf
from tiny_encoder import tiny_encoder

import bert_span  # noqa: F401 -- chooses Keras' backend before keras loads
from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.encoder_modes import computing_in, recomputing_layers
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.keras_internals import sublayers
from bert_span.modeling.losses import SpanLoss
from bert_span.modeling.span_model import SpanModel
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import (
  ExecutionOptions,
  StrategyOptions,
  TrainOptions,
)
from bert_span.training.strategy import make_strategy

VOCAB, STEPS, LENGTH = 50, 5, 12
# On two devices 3 windows and 2, or 1 and none.
_UNEVEN = {"batch_size": (5, 1, 5, 5, 1), "unsummed": True}
_LOSS_FN = SPAN_HEAD.loss_fn(SpanLoss())


def make_model(dropout=0.0, num_layers=2):
  """A model of width 32, the same weights every time."""
  keras.utils.set_random_seed(3)
  encoder = tiny_encoder(
    vocabulary_size=VOCAB,
    num_layers=num_layers,
    hidden_dim=32,
    intermediate_dim=64,
    max_sequence_length=LENGTH,
    dropout=dropout,
    attention_dropout=dropout,
  )
  return SpanModel(encoder, SpanHead())


def batches(batch_size, first_step):
  """The batches from a step on, of one size or of a size for each step."""

  def batch(step):
    rng = np.random.default_rng(step)
    length = LENGTH - step % 2
    rows = batch_size if isinstance(batch_size, int) else batch_size[step]
    shape = (rows, length)
    ids = rng.integers(1, VOCAB // 3, shape)
    mask = np.arange(length) < rng.integers(4, length + 1, (rows, 1))
    return {
      "input_ids": (ids * mask).astype(np.int32),
      "segment_ids": np.zeros(shape, np.int32),
      "input_mask": mask.astype(np.int32),
      "start_positions": rng.integers(0, 4, rows).astype(np.int32),
      "end_positions": rng.integers(0, 4, rows).astype(np.int32),
    }

  return tf.data.Dataset.from_generator(
    lambda: map(batch, range(first_step, STEPS)),
    output_signature={
      name: tf.TensorSpec([None] * values.ndim, values.dtype)
      for name, values in batch(0).items()
    },
  )


class Run:
  """One training, and what it left."""

  def __init__(
    self,
    folder,
    strategy,
    batch_size=6,
    dropout=0.0,
    loss_fn=_LOSS_FN,
    unsummed=False,
    averages=False,
    name=None,
    **execution,
  ):
    options = ExecutionOptions(**execution)
    with strategy.scope():
      self.model = make_model(dropout, num_layers=1)
      self.optimizer = BertAdamW(
        WarmupLinearDecay(1e-2, STEPS, 1),
        layer_decay=0.9 if averages else 1.0,
        use_ema=averages,
        ema_momentum=0.5,
      )
    before = compared_weights(self.model)
    table = self.model.backbone.token_embedding.embeddings.path
    folder = folder / (name or f"run{len(list(folder.iterdir()))}")
    with (
      computing_in(self.model.backbone, options.precision),
      recomputing_layers(self.model.backbone, options.recompute),
    ):
      self.trainer = Trainer(
        self.model,
        loss_fn,
        self.optimizer,
        STEPS,
        TrainOptions(
          train_batch_size=np.max(batch_size).item(),
          clip_norm=0.1,
          iterations_per_loop=1,
          seed=0,
          execution=options,
        ),
        folder,
        strategy=strategy,
        unsummed_embeddings=(table,) if unsummed else (),
      )
      self.trainer.train(functools.partial(batches, batch_size))
    self.events = read_events(folder)
    self.weights = compared_weights(self.model)
    self.moved = max_difference(before, self.weights)


def compared_weights(model):
  """Dict of the weights that have a gradient.

  Not the bias of the keys, the last LayerNorm's beta and the head's bias: they
  add the same to all that a softmax compares, so their gradient is rounding.
  """
  left_out = (
    *("key/bias", "feedforward_layer_norm/beta", "span_head/bias"),
    *("pooled_dense/kernel", "pooled_dense/bias"),
  )
  return {
    weight.path: weight.numpy() + np.float32(0)
    for weight in model.weights
    if not weight.path.endswith(left_out)
  }


def read_events(folder, name="train"):
  """Dict from a curve's name to its list of values."""
  curves = {}
  for path in sorted((folder / name).glob("events.out.tfevents.*")):
    for record in tf.data.TFRecordDataset(str(path)):
      event = tf.compat.v1.Event.FromString(record.numpy())
      for value in event.summary.value:
        number = float(tf.make_ndarray(value.tensor))
        curves.setdefault(value.tag, []).append(number)
  return curves


def max_difference(expected, run):
  """Largest norm of a difference, as a share of the variable's norm."""
  norm, smallest = np.linalg.norm, np.finfo(np.float32).tiny
  differences = [  # A variable may be all zeros.
    norm(values - run[path]) / max(norm(run[path]), smallest)
    for path, values in expected.items()
  ]
  return float(np.max(differences))  # max() may pass over NaN.


def compare(reference, folder, two, **options):
  """A run on one device beside one on two; was it clipped?"""
  run = Run(folder, two, **options)
  norms = np.array(reference.events["global_norm"])
  losses = np.subtract(reference.events["loss"], run.events["loss"])
  return {
    "weights": max_difference(reference.weights, run.weights),
    "moved": reference.moved,
    "norms": float(np.abs(norms / run.events["global_norm"] - 1).max()),
    "losses": float(np.abs(losses).max()),
    "smallest_norm": float(norms.min()),
    "copies": copies_differ(run.model),
    "traces": run.trainer.runner.num_traces,
  }


def copies_differ(model):
  """Largest difference between the copies of a weight on both devices."""
  pairs = [weight.value.values for weight in model.trainable_variables]
  return max(
    float(np.abs(one.numpy() - two.numpy()).max()) for one, two in pairs
  )


def dropout_and_overflow(folder, two):
  """Losses of both devices on the same windows: dropout alone differs.

  Gradients are infinite on the last device in the second and fourth step.
  """

  def loss_fn(model, batch):
    is_short = tf.shape(batch["input_ids"])[1] == LENGTH - 1
    batch = {name: tf.zeros_like(values) for name, values in batch.items()}
    ones = tf.ones_like(batch["input_ids"])
    batch |= {"input_ids": ones, "input_mask": ones}
    losses = _LOSS_FN(model, batch)
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    on_first = tf.cast(replica == 0, tf.float32)
    curves = {"first": losses * on_first, "rest": losses * (1 - on_first)}
    is_huge = is_short & (replica == 1)
    return tf.where(is_huge, losses * np.float32(1e38), losses), curves

  run = Run(folder, two, dropout=0.5, loss_fn=loss_fn, precision="float16")
  states = [
    [copy.numpy().tolist() for copy in state.value.values]
    for state in run.model.variables
    if state.name == "seed_generator_state"
  ]
  return {
    **run.events,
    "states": states,
    "iterations": int(run.optimizer.iterations.numpy()),
    "is_finite": all(np.isfinite(w).all() for w in run.weights.values()),
    "copies": copies_differ(run.model),
  }


def loss_curves(reference, folder, one):
  """Losses of each step in each precision, and dtypes afterwards."""
  curves = {"float32": reference.events["loss"]}
  for precision in ("bfloat16", "float16"):
    run = Run(folder, one, averages=True, precision=precision)
    curves[precision] = run.events["loss"]
  dtypes = {layer.compute_dtype for layer in sublayers(run.model)}
  return {**curves, "dtypes_afterwards": sorted(dtypes)}


def main():
  folder = pathlib.Path(sys.argv[1])
  options = StrategyOptions(distribution="mirrored", num_devices=2)
  two = make_strategy(options, ExecutionOptions())
  one = tf.distribute.get_strategy()

  even, uneven = Run(folder, one, averages=True), Run(folder, one, **_UNEVEN)
  modes = {"all_reduce": "ring", "recompute": True, "jit_compile": "on"}
  checks = {
    "even": compare(even, folder, two, averages=True, **modes),
    "uneven": compare(uneven, folder, two, **_UNEVEN, accumulate_steps=2),
    "dropout_and_overflow": dropout_and_overflow(folder, two),
    "curves": loss_curves(even, folder, one),
  }
  print(json.dumps(checks))


if __name__ == "__main__":
  main()
