"""The losses against values computed by hand."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.losses import BioLoss, SpanLoss

# Softmax of [0, ln 3] is [1/4, 3/4].
_LOGITS = np.array([[0.0, math.log(3)], [0.0, 0.0]], "float32")
# p of four positions, whose logarithms are logits.
_P = np.array(
  [[[0.5, 0.25, 0.25], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]]]
)
_TAG_LOGITS = np.log(_P).astype("float32")


@pytest.mark.parametrize(("ends", "weight"), [("mean", 0.5), ("sum", 1.0)])
def test_an_end_counts_half_in_the_mean_and_whole_in_the_sum(ends, weight):
  expected = weight * np.log([4, 2])
  losses = SpanLoss(ends).call(np.array([0, 1]), _LOGITS)
  np.testing.assert_allclose(losses, expected, rtol=1e-6)
  mean = float(SpanLoss(ends)(np.array([0, 1]), _LOGITS))
  assert mean == pytest.approx(expected.mean())


@pytest.mark.parametrize("outside", [-1, 3])
def test_position_outside_the_sequence_adds_nothing(outside):
  logits = tf.Variable([[1.0, 2.0, 3.0]])
  with tf.GradientTape() as tape:
    losses = SpanLoss().call(tf.constant([outside]), logits)
  np.testing.assert_array_equal(losses, [0.0])
  np.testing.assert_array_equal(tape.gradient(losses, logits), np.zeros((1, 3)))


def test_half_precision_logits_are_computed_in_float32():
  for losses in (
    SpanLoss("sum").call([0], tf.zeros([1, 3], tf.bfloat16)),
    BioLoss().call([[[0.25, 0.25, 0.5]]], tf.zeros([1, 1, 3], tf.bfloat16)),
  ):
    assert losses.dtype == "float32"
    np.testing.assert_allclose(losses, [math.log(3)], rtol=1e-6)


@pytest.mark.parametrize(
  ("position", "logits", "expected"),
  [
    (1, [1e4, -1e4], 2e4),
    # Exact, although Keras makes positions floats.
    (511, [0.0] * 511 + [5.0], math.log(511 * math.exp(-5.0) + 1)),
  ],
)
def test_large_logits_and_positions_are_exact(position, logits, expected):
  loss = SpanLoss("sum")([position], np.array([logits], "float32"))
  assert float(loss) == pytest.approx(expected, 1e-5)


def test_gradient_is_p_minus_t_on_passage_tokens_and_zero_elsewhere():
  logits = tf.Variable(_TAG_LOGITS)
  labels = np.array([[[2 / 3, 0, 1 / 3], [0, 1, 0], [0] * 3, [0] * 3]])
  with tf.GradientTape() as tape:
    loss = BioLoss()(labels.astype("float32"), logits)
  expected = (_P - labels) * [[[1], [1], [0], [0]]]
  np.testing.assert_allclose(
    tape.gradient(loss, logits), expected, rtol=1e-5, atol=1e-6
  )


def test_mean_divides_by_the_passage_tokens_of_each_window():
  """The third window has no passage token and costs nothing."""
  logits = np.repeat(_TAG_LOGITS, 3, axis=0)
  one_hot = np.eye(4, 3, dtype="float32")  # The last row: no passage token.
  labels = one_hot[[[0, 1, 3, 3], [3, 3, 2, 3], [3, 3, 3, 3]]]
  sums = np.array([-math.log(0.5) - math.log(0.7), -math.log(0.8), 0])
  means = sums / [2, 1, 1]
  for tokens, expected in (("sum", sums), ("mean", means)):
    loss = BioLoss(tokens)
    np.testing.assert_allclose(loss.call(labels, logits), expected, rtol=1e-6)
    mean = float(loss(labels, logits))
    assert mean == pytest.approx(expected.mean(), abs=1e-6)


def test_class_weights_multiply_their_terms():
  loss = BioLoss(class_weights=(3, 2, 0.5))
  labels = np.array([[[0.5, 0, 0.5], [0, 1, 0], [0] * 3, [0] * 3]], "float32")
  expected = -3 * 0.5 * math.log(0.5) - 0.5 * 0.5 * math.log(0.25)
  expected -= 2 * math.log(0.7)
  assert float(loss(labels, _TAG_LOGITS)) == pytest.approx(expected, abs=1e-6)


def test_wrong_settings_are_refused():
  for loss_type, names in ((SpanLoss, "ends"), (BioLoss, "tokens")):
    with pytest.raises(ValueError, match=f"{names}.*'average'"):
      loss_type("average")
  for weights in ((1, 2), (1, 0, 1), (1, 1, math.inf)):
    with pytest.raises(ValueError, match="class_weights"):
      BioLoss(class_weights=weights)
