"""The cross-entropy of an answer's start and end."""

import keras
from keras import ops

# What each of the two ends counts.
_WEIGHTS = {"mean": 0.5, "sum": 1.0}


@keras.saving.register_keras_serializable(package="bert_span")
class SpanLoss(keras.losses.Loss):
  """The share of one end, start or end, in the loss of an answer.

      position_loss(x, p) = -sum_i one_hot(p, seq_length)[i] * log_softmax(x)[i]
      loss = (position_loss(start) + position_loss(end)) / 2

  A SpanModel has an output for each end. Keras applies the loss to both and
  adds the two shares up: model.compile(optimizer, loss=SpanLoss()).

  One-hot vectors are zero for a position outside the sequence, so such a
  position adds 0 to the loss and nothing to the gradient.

  As in run_squad, log_softmax runs over every position of the batch, question
  and padding included. A batch padded to a shorter length therefore has fewer
  terms in its denominators; at a fixed length the values are the original's.

  Example, one window of two positions, both logits 0, answer at position 1:

      logits, position = np.zeros((1, 2)), np.array([1])
      SpanLoss()(position, logits)  # ln 2 / 2 = 0.3466 for each end
      SpanLoss("sum")(position, logits)  # ln 2 = 0.6931

  Args:
    ends: "mean" for the mean of start and end, as the original; "sum" for
      their sum, twice the gradient.
    reduction: over the batch, see keras.losses.Loss.
    name: of the loss.

  Call arguments:
    y_true: int [batch], the position of this end; or float [batch,
      seq_length], a distribution over positions (soft labels).
    y_pred: float [batch, seq_length], its logits, unnormalized.

  Returns:
    float32 scalar in nats, averaged over the batch.

  Source: google-research/bert, run_squad.py, compute_loss.
  """

  def __init__(
    self, ends="mean", reduction="sum_over_batch_size", name="span_loss"
  ):
    super().__init__(name=name, reduction=reduction, dtype="float32")
    if ends not in _WEIGHTS:
      raise ValueError(
        f"ends must be one of {', '.join(_WEIGHTS)}. Received: {ends!r}"
      )
    self.ends = ends

  def call(self, y_true, y_pred):
    """The share of each window, float32 [batch], in nats."""
    log_probabilities = ops.log_softmax(ops.cast(y_pred, "float32"), axis=-1)
    shares = ops.convert_to_tensor(y_true)
    if len(shares.shape) == 1:
      shares = ops.one_hot(
        ops.cast(shares, "int32"), ops.shape(y_pred)[-1], dtype="float32"
      )
    losses = -ops.sum(shares * log_probabilities, axis=-1)  # [batch]
    return _WEIGHTS[self.ends] * losses

  def get_config(self):
    return {**super().get_config(), "ends": self.ends}
