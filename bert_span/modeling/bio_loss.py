"""The cross-entropy of B/I/O tags that annotators may disagree on."""

import math

import keras
from keras import ops

from bert_span.data.bio_labels import TAGS

_TOKENS = ("sum", "mean")


@keras.saving.register_keras_serializable(package="bert_span")
class BioLoss(keras.losses.Loss):
  """Cross-entropy of the tags of a window's passage tokens.

      loss = -sum_{i=1..N} sum_j w_j t_ij log p_ij,  p_i = softmax(logits_i)

  over its N passage tokens. The labels t_i are a distribution over B, I, O,
  or all zero at question, special and padding tokens, which then add nothing
  to the loss nor to any gradient. With one-hot labels the inner sum is
  -w_r log p_{i, r(i)} of the correct tag r(i).

  Example: two of three annotators begin their answer at a token, the third
  leaves the token out, and the model says p = (1/2, 1/4, 1/4):

      labels = np.array([[[2 / 3, 0, 1 / 3]]])  # [1 window, 1 token, 3]
      logits = np.log([[[0.5, 0.25, 0.25]]])
      BioLoss()(labels, logits)  # (2 ln 2 + ln 4) / 3 = 4/3 ln 2 = 0.9242

  Args:
    tokens: "sum" over a window's passage tokens, as the formula, or "mean",
      the same divided by N. Class weights do not change N.
    class_weights: w of B, I and O; None for 1 each.
    reduction: over the batch, see keras.losses.Loss.
    name: of the loss.

  Call arguments:
    y_true: float [batch, seq_length, 3], the labels.
    y_pred: float [batch, seq_length, 3], the logits in the order of TAGS.

  Returns:
    float32 scalar in nats, averaged over the batch.
  """

  def __init__(
    self,
    tokens="sum",
    class_weights=None,
    reduction="sum_over_batch_size",
    name="bio_loss",
  ):
    super().__init__(name=name, reduction=reduction, dtype="float32")
    if tokens not in _TOKENS:
      raise ValueError(
        f"tokens must be one of {', '.join(_TOKENS)}. Received: {tokens!r}"
      )
    self.tokens = tokens
    self.class_weights = checked_class_weights(class_weights)

  def call(self, y_true, y_pred):
    """The loss of each window, float32 [batch], in nats.

    It is 0 for a window without a passage token.
    """
    labels = ops.cast(y_true, "float32")
    log_p = ops.log_softmax(ops.cast(y_pred, "float32"), axis=-1)
    weights = ops.convert_to_tensor(self.class_weights, "float32")  # [3]
    total = -ops.sum(weights * labels * log_p, axis=(1, 2))  # [batch]
    if self.tokens == "sum":
      return total
    num_tokens = ops.sum(labels, axis=(1, 2))  # a distribution sums to 1
    return total / ops.maximum(num_tokens, 1.0)

  def get_config(self):
    return {
      **super().get_config(),
      "tokens": self.tokens,
      "class_weights": list(self.class_weights),
    }


def checked_class_weights(class_weights):
  """The weights of B, I and O as a tuple of three floats.

  Args:
    class_weights: three positive numbers, or None for 1 each.

  Raises:
    ValueError: they are not.
  """
  if class_weights is None:
    return (1.0,) * len(TAGS)
  weights = tuple(map(float, class_weights))
  if len(weights) != len(TAGS) or not all(
    weight > 0 and math.isfinite(weight) for weight in weights
  ):
    raise ValueError(
      "class_weights must be three positive numbers, of B, I and O. "
      f"Received: {class_weights!r}"
    )
  return weights
