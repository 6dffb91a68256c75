"""Pre-trains an encoder on batches of masked text."""

import contextlib
import time

import numpy as np
import tensorflow as tf

from bert_span.modeling.encoder_modes import computing_in, recomputing_layers
from bert_span.pretraining.loss import (
  pretraining_loss_fn,
  with_batch_weights,
)
from bert_span.storage.log import log_line
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import make_optimizer

# Batches that the mean length of a sequence is taken from.
_SAMPLED_BATCHES = 10


def pretrain(
  model,
  batches,
  options,
  output_dir,
  fingerprint,
  callbacks=(),
  strategy=None,
):
  """Trains a model on masked text, resuming where a run stopped.

  Args:
    model: `PretrainingModel`, trained in place.
    batches: `TextBatches` or `RecordBatches`.
    options: `PretrainingOptions`.
    output_dir: folder of checkpoints and event files.
    fingerprint: dict of JSON values that the batches depend on.
    callbacks: sequence of `Callback`.
    strategy: tf.distribute.Strategy in whose scope the model was made; None
      for one device.

  Returns:
    The number of steps made by this call.
  """

  def dataset_fn(first_step):
    return batches.dataset(first_step).map(with_batch_weights)

  optimizer = make_optimizer(
    options,
    options.num_train_steps,
    options.num_warmup_steps,
    strategy,
    epsilon=options.adam_epsilon,
  )
  trainer = Trainer(
    model,
    pretraining_loss_fn(options.sbo_weight),
    optimizer,
    options.num_train_steps,
    options,
    output_dir,
    fingerprint={
      **fingerprint,
      "span_boundary": options.span_boundary,
      "sbo_weight": options.sbo_weight,
    },
    callbacks=callbacks,
    strategy=strategy,
  )
  tokens = float(np.mean(sample_lengths(batches)))
  log_line(
    f"{tokens:.0f} WordPieces a sequence, {options.num_train_steps} steps of "
    f"{options.train_batch_size} sequences, {options.num_warmup_steps} of "
    "them warm-up; trained on masked tokens"
    f"{' and span boundaries' if options.span_boundary else ''}."
  )
  started = time.monotonic()
  with (
    _naming_causes(batches),
    computing_in(model.backbone, options.execution.precision),
    recomputing_layers(model.backbone, options.execution.recompute),
  ):
    steps = trainer.train(dataset_fn)
  if steps:
    seconds = max(time.monotonic() - started, 1e-9)
    sequences = steps * options.train_batch_size / seconds
    log_line(
      f"{steps} steps in {seconds:.0f} s: {sequences:.1f} sequences/s, "
      f"{sequences * tokens:.0f} WordPieces/s (padding not counted)."
    )
  return steps


def sample_lengths(batches):
  """WordPieces of the sequences in the first batches, padding not counted."""
  sample = batches.dataset(0).take(_SAMPLED_BATCHES)
  with _naming_causes(batches):
    return np.concatenate(
      [np.sum(batch["input_mask"], axis=-1) for batch in sample]
    )


@contextlib.contextmanager
def _naming_causes(batches):
  """Replaces errors that TensorFlow raises for damaged text or records."""
  try:
    yield
  except tf.errors.OpError as error:
    raise batches.cause_of(error) from None
