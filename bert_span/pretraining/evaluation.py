"""Scores of a pre-trained model on held-out text, also during training."""

import math
import os
import time

import tensorflow as tf

from bert_span.pretraining.loss import (
  WEIGHTS,
  model_inputs,
  prediction_sums,
  with_weights,
)
from bert_span.pretraining.masked_arrays import KEYS
from bert_span.training.run.event_file import EventFile


def evaluate(model, batches, max_steps=None, score=None):
  """Scores a model on held-out text.

  Args:
    model: `PretrainingModel`.
    batches: iterable of batches, such as `evaluation_batches`.
    max_steps: maximum number of batches; None for all.
    score: `scoring_function` of the model, if it is scored several times.

  Returns:
    Dict of mlm_loss and sbo_loss (nats a target), mlm_accuracy and sbo_accuracy
    (fraction of the targets), num_mlm_targets, num_sbo_targets, num_sequences,
    num_tokens and tokens_per_second (WordPieces, padding not counted).
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
  seconds = time.monotonic() - started
  scores = {}
  for name in WEIGHTS:
    targets = totals.get(f"{name}_targets")
    if targets is not None:
      means = [
        totals[f"{name}_{measure}"] / targets if targets else math.nan
        for measure in ("loss", "correct")
      ]
      scores[f"{name}_loss"], scores[f"{name}_accuracy"] = means
      scores[f"num_{name}_targets"] = targets
  return {
    **scores,
    "num_sequences": totals["num_sequences"],
    "num_tokens": totals["num_tokens"],
    "tokens_per_second": totals["num_tokens"] / max(seconds, 1e-9),
  }


def scoring_function(model):
  """Returns the compiled function from a batch to sums that `evaluate` calls.

  Each call uses the model's current weights.
  """

  def sums(batch):
    batch = with_weights(batch)
    logits = model(model_inputs(batch), training=False)
    return {
      **prediction_sums(logits, batch),
      "num_sequences": tf.cast(tf.shape(batch["input_ids"])[0], tf.float32),
      "num_tokens": tf.cast(tf.reduce_sum(batch["input_mask"]), tf.float32),
    }

  spec = {key: tf.TensorSpec([None, None], tf.int32) for key in KEYS}
  return tf.function(sums, input_signature=[spec])


def metrics_function(model, batches, max_steps):
  """Returns a function to the losses and accuracies of the current weights.

  `batches` is a function that returns the same batches at every call. The other
  arguments are those of `evaluate`.
  """
  score = scoring_function(model)

  def metrics():
    scores = evaluate(model, batches(), max_steps, score)
    return {
      name: value
      for name, value in scores.items()
      if name.endswith(("_loss", "_accuracy"))
    }

  return metrics


def write_scores(scores, output_dir, step):
  """Writes the scores of a step for TensorBoard, below output_dir/eval."""
  with EventFile(os.path.join(output_dir, "eval")) as events:
    events.write(scores, step)
