"""Pre-trains an encoder on batches of masked text, and scores it."""

import collections
import contextlib
import itertools
import math
import time

import numpy as np
import tensorflow as tf

from bert_span.pretraining import loss
from bert_span.pretraining.masking import BATCH_KEYS
from bert_span.storage.log import log_line
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import make_optimizer

# The mean length of a sequence is computed from this many batches.
_SAMPLED_BATCHES = 10


def pretrain(
  model, batches, options, output_dir, fingerprint, callbacks=(), strategy=None
):
  """Trains a `PretrainingModel`, resuming where a run stopped.

  `batches` are a `PretrainingInput`'s training_batches, and `options` a
  `PretrainingOptions`. The other arguments are those of `Trainer`.
  """
  schedule = WarmupLinearDecay(
    options.learning_rate, options.num_train_steps, options.num_warmup_steps
  )
  optimizer = make_optimizer(
    options, schedule, strategy, epsilon=options.adam_epsilon
  )
  trainer = Trainer(
    model,
    loss.pretraining_loss_fn(options.sbo_weight),
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
  with _damage_named(batches):
    sample = batches.dataset(0).take(_SAMPLED_BATCHES)
    lengths = [np.sum(batch["input_mask"], axis=-1) for batch in sample]
  tokens = np.mean(lengths)
  log_line(
    f"{tokens:.0f} WordPieces a sequence, {options.num_train_steps} steps of "
    f"{options.train_batch_size} sequences, {options.num_warmup_steps} of "
    f"them warm-up; the objective is masking"
    f"{' and span boundaries' if model.span_boundary_head else ''}."
  )
  started = time.monotonic()
  with _damage_named(batches):
    steps = trainer.train(
      lambda first_step: batches.dataset(first_step).map(
        loss.with_batch_weights
      )
    )
  if steps:
    seconds = max(time.monotonic() - started, 1e-9)
    sequences = steps * options.train_batch_size / seconds
    log_line(
      f"{steps} steps in {seconds:.0f} s: {sequences:.1f} sequences/s, "
      f"{sequences * tokens:.0f} WordPieces/s (padding not counted)."
    )
  return steps


@contextlib.contextmanager
def _damage_named(batches):
  """Replaces TensorFlow's errors by those that name damaged text or records."""
  try:
    yield
  except tf.errors.OpError as error:
    raise batches.cause_of(error) from None


def make_evaluate(model):
  """Returns a function that scores the model's current weights on text.

  It takes the batches of `evaluation_batches` and the highest number to read.
  It returns a dict of mlm_loss (nats a target), mlm_accuracy (fraction of the
  targets) and so on; padding is not counted.
  """
  spec = {key: tf.TensorSpec([None, None], tf.int32) for key in BATCH_KEYS}

  @tf.function(input_signature=[spec], autograph=False)
  def sums_of(batch):
    logits = model(loss.pretraining_inputs(batch), training=False)
    return {
      **loss.prediction_sums(logits, batch),
      "num_sequences": tf.cast(tf.shape(batch["input_ids"])[0], tf.float32),
      "num_tokens": tf.cast(tf.reduce_sum(batch["input_mask"]), tf.float32),
    }

  def evaluate(batches, max_steps=None):
    totals = collections.Counter()
    started = time.monotonic()
    for batch in itertools.islice(batches, max_steps):
      totals.update({k: float(x) for k, x in sums_of(batch).items()})
    seconds = time.monotonic() - started
    scores = {}
    for name in loss.OBJECTIVES:
      if f"{name}_targets" in totals:
        targets = totals[f"{name}_targets"]
        divisor = targets or math.nan
        scores[f"{name}_loss"] = totals[f"{name}_loss"] / divisor
        scores[f"{name}_accuracy"] = totals[f"{name}_correct"] / divisor
        scores[f"num_{name}_targets"] = targets
    return scores | {
      "num_sequences": totals["num_sequences"],
      "num_tokens": totals["num_tokens"],
      "tokens_per_second": totals["num_tokens"] / max(seconds, 1e-9),
    }

  return evaluate
