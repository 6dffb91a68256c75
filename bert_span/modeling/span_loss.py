"""The cross-entropy of an answer's start and end."""

import keras
from keras import ops

_REDUCTIONS = ("mean", "sum")


@keras.saving.register_keras_serializable(package="bert_span")
class SpanLoss(keras.layers.Layer):
  """Cross-entropy of the start and of the end, as run_squad writes it.

      position_loss(x, p) = -sum_i one_hot(p, seq_length)[i] * log_softmax(x)[i]
      loss = (position_loss(start) + position_loss(end)) / 2

  One-hot vectors are zero for a position outside the sequence, so such a
  position adds 0 to the loss and nothing to the gradient.

  As in run_squad, log_softmax runs over every position of the batch, question
  and padding included. A batch padded to a shorter length therefore has fewer
  terms in its denominators; at a fixed length the values are the original's.

  Example, one window of two positions, both logits 0, answer at position 1:

      logits, position = np.zeros((1, 2)), np.array([1])
      SpanLoss()(logits, logits, position, position)  # ln 2 = 0.6931
      SpanLoss("sum")(logits, logits, position, position)  # 1.3863

  Args:
    reduction: "mean" for the mean of start and end, as the original; "sum"
      for their sum, twice the gradient.
    **kwargs: passed to keras.layers.Layer.

  Call arguments:
    start_logits, end_logits: float [batch, seq_length].
    start_positions, end_positions: int [batch].

  Returns:
    float32 scalar in nats, averaged over the batch.

  Source: google-research/bert, run_squad.py, compute_loss.
  """

  def __init__(self, reduction="mean", name="span_loss", **kwargs):
    super().__init__(name=name, **{**kwargs, "dtype": "float32"})
    if reduction not in _REDUCTIONS:
      raise ValueError(
        f"reduction must be one of {', '.join(_REDUCTIONS)}. "
        f"Received: {reduction!r}"
      )
    self.reduction = reduction

  def call(self, start_logits, end_logits, start_positions, end_positions):
    return ops.mean(
      self.window_losses(
        start_logits, end_logits, start_positions, end_positions
      )
    )

  def window_losses(
    self, start_logits, end_logits, start_positions, end_positions
  ):
    """The loss of each window, for callers that average on their own.

    Args:
      start_logits: float [batch, seq_length], unnormalized.
      end_logits: float [batch, seq_length], unnormalized.
      start_positions: int [batch].
      end_positions: int [batch].

    Returns:
      float32 [batch], in nats.
    """
    total = position_losses(start_logits, start_positions) + position_losses(
      end_logits, end_positions
    )
    return total / 2.0 if self.reduction == "mean" else total

  def get_config(self):
    return {**super().get_config(), "reduction": self.reduction}


def position_losses(logits, positions):
  """The cross-entropy of one position in each window.

  Args:
    logits: float [batch, seq_length], unnormalized.
    positions: int [batch]; one outside [0, seq_length) adds 0.

  Returns:
    float32 [batch], in nats.
  """
  log_probabilities = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
  one_hot = ops.one_hot(positions, ops.shape(logits)[-1], dtype="float32")
  return -ops.sum(one_hot * log_probabilities, axis=-1)
