"""The cross-entropy of B/I/O tags that annotators may disagree on."""

import math

import keras
from keras import ops

from bert_span.data.bio_labels import TAGS

_REDUCTIONS = ("sum", "mean")


@keras.saving.register_keras_serializable(package="bert_span")
class BioLoss(keras.layers.Layer):
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
      BioLoss()(logits, labels)  # (2 ln 2 + ln 4) / 3 = 4/3 ln 2 = 0.9242

  Args:
    reduction: "sum" over a window's passage tokens, as the formula, or "mean",
      the same divided by N. Class weights do not change N.
    class_weights: w of B, I and O; None for 1 each.
    **kwargs: passed to keras.layers.Layer.

  Call arguments:
    tag_logits: float [batch, seq_length, 3], in the order of TAGS.
    tag_labels: float [batch, seq_length, 3].

  Returns:
    float32 scalar in nats, averaged over the batch.
  """

  def __init__(
    self, reduction="sum", class_weights=None, name="tag_loss", **kwargs
  ):
    super().__init__(name=name, **{**kwargs, "dtype": "float32"})
    if reduction not in _REDUCTIONS:
      raise ValueError(
        f"reduction must be one of {', '.join(_REDUCTIONS)}. "
        f"Received: {reduction!r}"
      )
    self.reduction = reduction
    self.class_weights = checked_class_weights(class_weights)

  def call(self, tag_logits, tag_labels):
    return ops.mean(self.window_losses(tag_logits, tag_labels))

  def window_losses(self, tag_logits, tag_labels):
    """The loss of each window, for callers that average on their own.

    Args:
      tag_logits: float [batch, seq_length, 3].
      tag_labels: float [batch, seq_length, 3].

    Returns:
      float32 [batch], in nats; 0 for a window without a passage token.
    """
    labels = ops.cast(tag_labels, "float32")
    log_p = ops.log_softmax(ops.cast(tag_logits, "float32"), axis=-1)
    weights = ops.convert_to_tensor(self.class_weights, "float32")  # [3]
    total = -ops.sum(weights * labels * log_p, axis=(1, 2))  # [batch]
    if self.reduction == "sum":
      return total
    num_tokens = ops.sum(labels, axis=(1, 2))  # a distribution sums to 1
    return total / ops.maximum(num_tokens, 1.0)

  def get_config(self):
    return {
      **super().get_config(),
      "reduction": self.reduction,
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
