"""The loss of pre-training: masked tokens and span boundaries.

    L = mean over masked tokens of -log P(x_i | vector at i)
      + w * mean over span tokens of -log P(x_i | y_i)

where y_i is computed from the span's boundaries. Each mean is over all targets
of the batch, even if devices have different numbers of them. A term without a
head is left out.

Source: Joshi et al. 2020 (SpanBERT), section 3.2.
"""

from keras import ops

# Objective -> the key of a batch whose values are above 0 at targets.
OBJECTIVES = {"mlm": "masked_positions", "sbo": "sbo_positions"}


def pretraining_loss_fn(sbo_weight):
  """Returns a `loss_fn` in nats for batches of `with_batch_weights`.

  The sum of its losses, divided by the number of sequences, is L.
  """

  def losses(model, batch):
    logits = model(pretraining_inputs(batch), training=True)
    terms = {
      f"{name}_loss": ops.sum(losses * batch[f"{name}_weights"], axis=-1)
      for name, losses in target_losses(logits, batch).items()
    }
    weights = {"sbo_loss": sbo_weight}
    return sum(weights.get(name, 1.0) * terms[name] for name in terms), terms

  return losses


def pretraining_inputs(batch):
  """Adds the names of a `PretrainingModel`'s inputs to a batch."""
  ids, mask = batch["input_ids"], batch["input_mask"]
  return {**batch, "token_ids": ids, "padding_mask": mask}


def with_batch_weights(batch):
  """Adds mlm_weights and so on, float32 [batch, targets], 0 for padding.

  An objective's weights sum to the number of sequences; 0 without targets.
  """
  batch = dict(batch)
  for name, key in OBJECTIVES.items():
    weights = ops.cast(batch[key] > 0, "float32")
    num_targets = ops.maximum(ops.sum(weights), 1.0)
    batch_size = ops.cast(ops.shape(weights)[0], "float32")
    batch[f"{name}_weights"] = weights * (batch_size / num_targets)
  return batch


def prediction_sums(logits, batch):
  """Sums losses, correct predictions and targets over a batch: scalars."""
  sums = {}
  for name, losses in target_losses(logits, batch).items():
    weights = ops.cast(batch[OBJECTIVES[name]] > 0, "float32")
    best = ops.argmax(logits[f"{name}_logits"], axis=-1)
    is_correct = ops.cast(
      ops.cast(best, "int32") == batch["masked_ids"], "float32"
    )
    sums[f"{name}_loss"] = ops.sum(losses * weights)
    sums[f"{name}_correct"] = ops.sum(is_correct * weights)
    sums[f"{name}_targets"] = ops.sum(weights)
  return sums


def target_losses(logits, batch):
  """Returns cross-entropies, float32 [batch, targets], by objective."""
  return {
    name: ops.sparse_categorical_crossentropy(
      batch["masked_ids"],
      ops.cast(logits[f"{name}_logits"], "float32"),
      from_logits=True,
    )
    for name in OBJECTIVES
    if f"{name}_logits" in logits
  }
