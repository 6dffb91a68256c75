"""The loss of pre-training: masked language model and span boundaries.

    L = mean over masked tokens of -log P(x_i | vector at i)
      + w * mean over span tokens of -log P(x_i | y_i)

where y_i is what the span's boundaries give (span_boundary_head.py). Each mean
is over the targets of its own in the whole batch, whatever share of it a
device holds: every target comes with a weight, and the weights of a batch sum
to its number of sequences.
"""

from keras import ops

# Objective -> the key of its weights in a batch.
WEIGHTS = {"mlm": "mlm_weights", "sbo": "sbo_weights"}


def target_losses(logits, ids):
  """The cross-entropy of every target.

  Args:
    logits: float [batch, targets, vocab], unnormalized.
    ids: int [batch, targets], the right tokens.

  Returns:
    float32 [batch, targets], in nats.
  """
  return ops.sparse_categorical_crossentropy(
    ids, ops.cast(logits, "float32"), from_logits=True
  )


def batch_weights(weights):
  """Scales weights so that they sum to the number of sequences.

  The sum of weight * loss over a batch, divided by the number of sequences, is
  then the mean over the batch's targets.

  Args:
    weights: float32 [batch, targets], 1 for a target and 0 for padding.

  Returns:
    float32 [batch, targets]; 0 throughout where there is no target.
  """
  num_targets = ops.maximum(ops.sum(weights), 1.0)
  batch_size = ops.cast(ops.shape(weights)[0], "float32")
  return weights * (batch_size / num_targets)


def sequence_losses(logits, batch, sbo_weight=1.0):
  """The share of every sequence in the loss.

  Args:
    logits: dict of mlm_logits and perhaps sbo_logits, float32 [batch,
      targets, vocab].
    batch: dict with masked_ids int32 [batch, targets], mlm_weights and
      sbo_weights float32 [batch, targets] from `batch_weights`.
    sbo_weight: w above.

  Returns:
    float32 [batch], in nats; its sum over the batch, divided by the number of
    sequences, is L.

  Source: Joshi et al. 2020 (SpanBERT), section 3.2.
  """
  return weighted_total(objective_losses(logits, batch), sbo_weight)


def weighted_total(losses, sbo_weight):
  """The sum of the objectives' losses.

  Args:
    losses: dict of `objective_losses`.
    sbo_weight: weight of the span boundary objective.

  Returns:
    float32 [batch], in nats.
  """
  total = losses["mlm"]
  if "sbo" in losses:
    total += sbo_weight * losses["sbo"]
  return total


def objective_losses(logits, batch):
  """The share of every sequence in the loss of each objective.

  Args:
    logits: see `sequence_losses`.
    batch: likewise.

  Returns:
    Dict of float32 [batch], in nats: "mlm" and, where there are such logits,
    "sbo".
  """
  return {
    name: ops.sum(
      target_losses(logits[f"{name}_logits"], batch["masked_ids"]) * batch[key],
      axis=-1,
    )
    for name, key in WEIGHTS.items()
    if f"{name}_logits" in logits
  }


def prediction_sums(logits, batch):
  """Sums over a batch, for means over many batches.

  Args:
    logits: see `sequence_losses`.
    batch: likewise, with weights of 1 and 0.

  Returns:
    dict of float32 scalars: for "mlm" and, where there are such logits, "sbo"
    the sums <name>_loss and <name>_correct and the number <name>_targets.
  """
  sums = {}
  for name, key in WEIGHTS.items():
    if f"{name}_logits" not in logits:
      continue
    scores, weights = logits[f"{name}_logits"], batch[key]
    best = ops.cast(ops.argmax(scores, axis=-1), "int32")
    is_right = ops.cast(best == batch["masked_ids"], "float32")
    losses = target_losses(scores, batch["masked_ids"])
    sums[f"{name}_loss"] = ops.sum(losses * weights)
    sums[f"{name}_correct"] = ops.sum(is_right * weights)
    sums[f"{name}_targets"] = ops.sum(weights)
  return sums
