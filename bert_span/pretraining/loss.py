"""The loss of pre-training: masked language model and span boundaries.

    L = mean over masked tokens of -log P(x_i | vector at i)
      + w * mean over span tokens of -log P(x_i | y_i)

where y_i is computed from the span's boundaries (`SpanBoundaryHead`). Each mean
is over all its targets in the batch, even if devices hold different numbers of
them. For that every target has a weight, and the weights of a batch sum to its
number of sequences.

Source: Joshi et al. 2020 (SpanBERT), section 3.2.
"""

from keras import ops

from bert_span.pretraining.masking import KEYS

# Objective -> the key of its weights in a batch.
WEIGHTS = {"mlm": "mlm_weights", "sbo": "sbo_weights"}


def pretraining_loss_fn(sbo_weight):
  """Returns the loss of a batch for the training loop.

  Args:
    sbo_weight: w above.

  Returns:
    Function of (model, batch of `with_batch_weights`) to float32 [batch], and
    a dict of such for TensorBoard: mlm_loss and sbo_loss, in nats. The sum of
    the first over the batch, divided by the number of sequences, is L.
  """

  def losses(model, batch):
    logits = model(model_inputs(batch), training=True)
    parts = objective_losses(logits, batch)
    total = parts["mlm"]
    if "sbo" in parts:
      total += sbo_weight * parts["sbo"]
    return total, {f"{name}_loss": part for name, part in parts.items()}

  return losses


def model_inputs(batch):
  """The inputs of a `PretrainingModel` in a batch."""
  names = {"input_ids": "token_ids", "input_mask": "padding_mask"}
  return {
    names.get(key, key): batch[key] for key in KEYS if key != "masked_ids"
  }


def with_weights(batch):
  """Adds mlm_weights and sbo_weights [batch, targets]: 1, for padding 0."""
  return {
    **batch,
    "mlm_weights": ops.cast(batch["masked_positions"] > 0, "float32"),
    "sbo_weights": ops.cast(batch["sbo_positions"] > 0, "float32"),
  }


def with_batch_weights(batch):
  """Adds weights that sum to the number of sequences, or to 0."""
  batch = with_weights(batch)
  for key in WEIGHTS.values():
    num_targets = ops.maximum(ops.sum(batch[key]), 1.0)
    batch_size = ops.cast(ops.shape(batch[key])[0], "float32")
    batch[key] = batch[key] * (batch_size / num_targets)
  return batch


def objective_losses(logits, batch):
  """The part of every sequence in each objective's loss, in nats.

  `logits` are those of `PretrainingModel`, `batch` has the weights of
  `with_batch_weights`. The result is a dict of float32 [batch]: "mlm" and, with
  such logits, "sbo".
  """
  return {
    name: ops.sum(
      _target_losses(logits[f"{name}_logits"], batch) * batch[key], axis=-1
    )
    for name, key in WEIGHTS.items()
    if f"{name}_logits" in logits
  }


def prediction_sums(logits, batch):
  """Sums over a batch of `with_weights`, for means over many batches.

  A dict of scalars <name>_loss, <name>_correct and <name>_targets for "mlm"
  and, with such logits, "sbo".
  """
  sums = {}
  for name, key in WEIGHTS.items():
    if f"{name}_logits" not in logits:
      continue
    scores, weights = logits[f"{name}_logits"], batch[key]
    best = ops.cast(ops.argmax(scores, axis=-1), "int32")
    is_correct = ops.cast(best == batch["masked_ids"], "float32")
    sums[f"{name}_loss"] = ops.sum(_target_losses(scores, batch) * weights)
    sums[f"{name}_correct"] = ops.sum(is_correct * weights)
    sums[f"{name}_targets"] = ops.sum(weights)
  return sums


def _target_losses(logits, batch):
  """The cross-entropy of every target, float32 [batch, targets], in nats."""
  return ops.sparse_categorical_crossentropy(
    batch["masked_ids"], ops.cast(logits, "float32"), from_logits=True
  )
