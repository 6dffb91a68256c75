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

# Objective -> the key of a batch that is above 0 where it has a target.
OBJECTIVES = {"mlm": "masked_positions", "sbo": "sbo_positions"}
_INPUT_NAMES = {"input_ids": "token_ids", "input_mask": "padding_mask"}


def pretraining_loss_fn(sbo_weight):
  """Returns the loss of a batch for the training loop, with w = sbo_weight.

  It is a function of (model, batch of `with_batch_weights`) to float32 [batch],
  and a dict of such for TensorBoard: mlm_loss and sbo_loss, in nats. The sum of
  the first over the batch, divided by the number of sequences, is L.
  """

  def losses(model, batch):
    logits = model(model_inputs(batch), training=True)
    parts = {
      f"{name}_loss": ops.sum(losses * batch[f"{name}_weights"], axis=-1)
      for name, losses in target_losses(logits, batch).items()
    }
    total = parts["mlm_loss"]
    if "sbo_loss" in parts:
      total += sbo_weight * parts["sbo_loss"]
    return total, parts

  return losses


def model_inputs(batch):
  """The inputs of a `PretrainingModel` in a batch."""
  keys = [key for key in KEYS if key != "masked_ids"]
  return {_INPUT_NAMES.get(key, key): batch[key] for key in keys}


def with_batch_weights(batch):
  """Adds mlm_weights and sbo_weights, float32 [batch, targets].

  The weights of an objective sum to the number of sequences, or to 0 where it
  has no target. Padding has weight 0.
  """
  batch = dict(batch)
  for name, key in OBJECTIVES.items():
    weights = ops.cast(batch[key] > 0, "float32")
    num_targets = ops.maximum(ops.sum(weights), 1.0)
    batch_size = ops.cast(ops.shape(weights)[0], "float32")
    batch[f"{name}_weights"] = weights * (batch_size / num_targets)
  return batch


def prediction_sums(logits, batch):
  """Sums over a batch, for means over many batches.

  A dict of scalars <name>_loss, <name>_correct and <name>_targets for "mlm"
  and, with such logits, "sbo".
  """
  sums = {}
  for name, losses in target_losses(logits, batch).items():
    weights = ops.cast(batch[OBJECTIVES[name]] > 0, "float32")
    best = ops.cast(ops.argmax(logits[f"{name}_logits"], axis=-1), "int32")
    is_correct = ops.cast(best == batch["masked_ids"], "float32")
    sums[f"{name}_loss"] = ops.sum(losses * weights)
    sums[f"{name}_correct"] = ops.sum(is_correct * weights)
    sums[f"{name}_targets"] = ops.sum(weights)
  return sums


def target_losses(logits, batch):
  """The cross-entropies, float32 [batch, targets] in nats, by objective."""
  return {
    name: ops.sparse_categorical_crossentropy(
      batch["masked_ids"],
      ops.cast(logits[f"{name}_logits"], "float32"),
      from_logits=True,
    )
    for name in OBJECTIVES
    if f"{name}_logits" in logits
  }
