"""Pre-training of an encoder: text in, weights and held-out scores out."""

import math
import os
import time

import numpy as np
import tensorflow as tf

from bert_span.modeling.precision import computing_in
from bert_span.modeling.recompute import recomputing_layers
from bert_span.pretraining.corpus.batches import KEYS, with_weights
from bert_span.pretraining.heads import loss as pretraining_loss
from bert_span.storage.log import log_line
from bert_span.training.devices.strategy import scope_of
from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import create_optimizer
from bert_span.training.run.event_file import EventFile
from bert_span.training.step import dynamic_signature

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

  Raises:
    ValueError: the text cannot be read, or the run cannot be continued.
  """

  def dataset_fn(first_step):
    return batches.dataset(first_step).map(with_batch_weights)

  with scope_of(strategy):
    optimizer = _optimizer(options)
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
  try:
    tokens = mean_tokens(batches)
    log_line(_summary(tokens, options))
    started = time.monotonic()
    with (
      computing_in(model.backbone, options.execution.precision),
      recomputing_layers(model.backbone, options.execution.recompute),
    ):
      steps = trainer.train(dataset_fn)
  except tf.errors.OpError:
    # TensorFlow wraps what Python raised while it read the text.
    failure = getattr(batches, "failure", None)
    if failure is None:
      raise
    raise failure from None
  if steps:
    seconds = max(time.monotonic() - started, 1e-9)
    sequences = steps * options.train_batch_size / seconds
    log_line(
      f"{steps} steps in {seconds:.0f} s: {sequences:.1f} sequences/s, "
      f"{sequences * tokens:.0f} WordPieces/s (padding not counted)."
    )
  return steps


def pretraining_loss_fn(sbo_weight):
  """The loss of a batch as the training loop wants it.

  Args:
    sbo_weight: weight of the span boundary objective.

  Returns:
    Function of (model, batch) to float32 [batch] and a dict of such, for
    TensorBoard: mlm_loss and perhaps sbo_loss, in nats.
  """

  def losses(model, batch):
    logits = model(model_inputs(batch), training=True)
    parts = pretraining_loss.objective_losses(logits, batch)
    return (
      pretraining_loss.weighted_total(parts, sbo_weight),
      {f"{name}_loss": part for name, part in parts.items()},
    )

  return losses


def model_inputs(batch):
  """The inputs of a `PretrainingModel` out of a batch."""
  names = {"input_ids": "token_ids", "input_mask": "padding_mask"}
  return {
    names.get(key, key): batch[key] for key in KEYS if key != "masked_ids"
  }


def evaluate(model, batches, max_steps=None, score=None):
  """Scores a model on held-out text.

  Args:
    model: `PretrainingModel`.
    batches: iterable of batches, such as `EvaluationBatches`.
    max_steps: batches that are taken at most; None for all.
    score: `scoring_function` of the model, for who scores it several times;
      None makes one, which takes some seconds.

  Returns:
    Dict of floats: mlm_loss and mlm_accuracy, with the span boundary head
    sbo_loss and sbo_accuracy (nats, and share of the targets);
    num_sequences, num_tokens, num_mlm_targets, num_sbo_targets and
    tokens_per_second (WordPieces, padding not counted).

  Raises:
    ValueError: there is no batch.
  """
  score = score or scoring_function(model)
  totals = {}
  started = time.monotonic()
  for step, batch in enumerate(batches):
    if step == max_steps:
      break
    sums = score({key: tf.convert_to_tensor(batch[key]) for key in KEYS})
    for name, value in sums.items():
      totals[name] = totals.get(name, 0.0) + float(value)
  if not totals:
    raise ValueError("There is no text to evaluate on.")
  return _means(totals, time.monotonic() - started)


def write_scores(scores, output_dir, step):
  """Writes scores as points of TensorBoard's curves.

  Args:
    scores: dict of `evaluate`.
    output_dir: folder of the run; the events stand in eval/.
    step: steps made.
  """
  with EventFile(os.path.join(output_dir, "eval")) as events:
    events.write(scores, step)


def _optimizer(options):
  return create_optimizer(
    WarmupLinearDecay(
      options.learning_rate, options.num_train_steps, options.num_warmup_steps
    ),
    weight_decay=options.weight_decay,
    epsilon=options.adam_epsilon,
    bias_correction=options.adam_bias_correction,
  )


def with_batch_weights(batch):
  """Adds weights that make the summed loss the sum of two means.

  Args:
    batch: dict of tensors, see `masked_arrays`.

  Returns:
    The dict with mlm_weights and sbo_weights, float32 [batch, targets].
  """
  batch = with_weights(batch)
  for key in pretraining_loss.WEIGHTS.values():
    batch[key] = pretraining_loss.batch_weights(batch[key])
  return batch


def scoring_function(model):
  """Gives the compiled function that `evaluate` scores batches with.

  Args:
    model: `PretrainingModel`; later calls see the weights of then.

  Returns:
    Function of a batch to a dict of sums.
  """

  def sums(batch):
    batch = with_weights(batch)
    logits = model(model_inputs(batch), training=False)
    return {
      **pretraining_loss.prediction_sums(logits, batch),
      "num_sequences": tf.cast(tf.shape(batch["input_ids"])[0], tf.float32),
      "num_tokens": tf.cast(tf.reduce_sum(batch["input_mask"]), tf.float32),
    }

  spec = {key: tf.TensorSpec([None, None], tf.int32) for key in KEYS}
  return tf.function(sums, input_signature=[dynamic_signature(spec)])


def _means(totals, seconds):
  scores = {}
  for name in pretraining_loss.WEIGHTS:
    targets = totals.get(f"{name}_targets")
    if targets is None:
      continue
    for measure in ("loss", "correct"):
      mean = totals[f"{name}_{measure}"] / targets if targets else math.nan
      key = "accuracy" if measure == "correct" else measure
      scores[f"{name}_{key}"] = mean
    scores[f"num_{name}_targets"] = targets
  return {
    **scores,
    "num_sequences": totals["num_sequences"],
    "num_tokens": totals["num_tokens"],
    "tokens_per_second": totals["num_tokens"] / max(seconds, 1e-9),
  }


def sample_lengths(batches):
  """WordPieces of the sequences of the first batches, padding not counted.

  Args:
    batches: `TextBatches` or `RecordBatches`.

  Returns:
    int [sequences].
  """
  sample = batches.dataset(0).take(_SAMPLED_BATCHES)
  return np.concatenate(
    [np.sum(batch["input_mask"], axis=-1) for batch in sample]
  )


def mean_tokens(batches):
  """The mean of `sample_lengths`."""
  return float(np.mean(sample_lengths(batches)))


def _summary(tokens, options):
  targets = "masked tokens"
  if options.span_boundary:
    targets += " and span boundaries"
  return (
    f"{tokens:.0f} WordPieces a sequence, {options.num_train_steps} steps of "
    f"{options.train_batch_size} sequences, {options.num_warmup_steps} of them "
    f"warm-up; trained on {targets}."
  )
