"""The losses of the two heads: start and end positions, and B/I/O tags."""

import math

import keras
from keras import ops

from bert_span.modeling.tags import TAGS

# The weight of each end in the span loss.
_END_WEIGHTS = {"mean": 0.5, "sum": 1.0}


@keras.saving.register_keras_serializable(package="bert_span")
class SpanLoss(keras.losses.Loss):
  """The cross-entropy of one end of the answer, start or end.

      position_loss(x, p) = -sum_i one_hot(p, seq_length)[i] * log_softmax(x)[i]
      loss = (position_loss(start) + position_loss(end)) / 2

  Keras applies it to both outputs of a SpanExtractor and adds the results. As
  in run_squad, log_softmax runs over all positions, question and padding
  included, and a position outside the window adds 0.

  Example: one window of two positions, both logits 0, the answer at position 1:

      SpanLoss()([1], np.zeros((1, 2)))  # ln 2 / 2 = 0.3466 for each end

  Args:
    ends: "mean" of both ends, as in the original, or "sum", which doubles the
      gradient.
    reduction, name: see keras.losses.Loss.

  Call arguments:
    y_true: int [batch], the position of this end; or float [batch,
      seq_length], a distribution over positions (soft labels).
    y_pred: float [batch, seq_length], its logits, unnormalized.

  Returns a float32 scalar in nats, averaged over the batch.

  Source: google-research/bert, run_squad.py, compute_loss.
  """

  def __init__(
    self, ends="mean", reduction="sum_over_batch_size", name="span_loss"
  ):
    super().__init__(name=name, reduction=reduction, dtype="float32")
    if ends not in _END_WEIGHTS:
      raise ValueError(f"ends must be mean or sum. Received: {ends!r}")
    self.ends = ends

  def call(self, y_true, y_pred):
    log_probabilities = ops.log_softmax(ops.cast(y_pred, "float32"), axis=-1)
    labels = ops.convert_to_tensor(y_true)
    if len(labels.shape) == 1:
      labels = ops.one_hot(
        ops.cast(labels, "int32"), ops.shape(y_pred)[-1], dtype="float32"
      )
    losses = -ops.sum(labels * log_probabilities, axis=-1)  # [batch]
    return _END_WEIGHTS[self.ends] * losses

  def get_config(self):
    return {**super().get_config(), "ends": self.ends}


@keras.saving.register_keras_serializable(package="bert_span")
class BioLoss(keras.losses.Loss):
  """The cross-entropy of the tags of a window's passage tokens.

      loss = -sum_{i=1..N} sum_j w_j t_ij log p_ij,  p_i = softmax(logits_i)

  The labels t_i of the N passage tokens are a distribution over B, I and O,
  because annotators may disagree. Other tokens have zeros, which add nothing.

  Example: two of three annotators begin their answer at a token, the third
  leaves the token out, and the model predicts p = (1/2, 1/4, 1/4):

      labels = np.array([[[2 / 3, 0, 1 / 3]]])  # [1 window, 1 token, 3]
      logits = np.log([[[0.5, 0.25, 0.25]]])
      BioLoss()(labels, logits)  # (2 ln 2 + ln 4) / 3 = 4/3 ln 2 = 0.9242

  Args:
    tokens: "sum" over a window's passage tokens, as in the formula, or "mean",
      the same divided by N. Class weights do not change N.
    class_weights: the weights w of B, I and O; None is 1 for each.
    reduction, name: see keras.losses.Loss.

  Call arguments:
    y_true: float [batch, seq_length, 3], the labels.
    y_pred: float [batch, seq_length, 3], the logits in the order of TAGS.

  Returns a float32 scalar in nats, averaged over the batch.
  """

  def __init__(
    self,
    tokens="sum",
    class_weights=None,
    reduction="sum_over_batch_size",
    name="bio_loss",
  ):
    super().__init__(name=name, reduction=reduction, dtype="float32")
    if tokens not in ("sum", "mean"):
      raise ValueError(f"tokens must be sum or mean. Received: {tokens!r}")
    weights = [1] * len(TAGS) if class_weights is None else class_weights
    weights = tuple(map(float, weights))
    is_positive = all(0 < weight < math.inf for weight in weights)
    if len(weights) != len(TAGS) or not is_positive:
      raise ValueError(
        "class_weights must be three positive numbers, for B, I and O. "
        f"Received: {class_weights!r}"
      )
    self.tokens = tokens
    self.class_weights = weights

  def call(self, y_true, y_pred):
    labels = ops.cast(y_true, "float32")
    log_p = ops.log_softmax(ops.cast(y_pred, "float32"), axis=-1)
    weights = ops.convert_to_tensor(self.class_weights, "float32")  # [3]
    total = -ops.sum(weights * labels * log_p, axis=(1, 2))  # [batch]
    if self.tokens == "sum":
      return total
    num_tokens = ops.sum(labels, axis=(1, 2))  # A distribution sums to 1.
    return total / ops.maximum(num_tokens, 1.0)

  def get_config(self):
    return {
      **super().get_config(),
      "tokens": self.tokens,
      "class_weights": list(self.class_weights),
    }
