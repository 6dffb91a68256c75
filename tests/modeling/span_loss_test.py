"""The span loss against values computed by hand and the original's."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.span_loss import SpanLoss

# Softmax of [0, ln 3] is [1/4, 3/4].
_LOGITS = np.array([[0.0, math.log(3)], [0.0, 0.0]], "float32")


def test_equal_logits_cost_half_the_logarithm_of_the_length_for_each_end():
  loss = SpanLoss()(np.array([2]), np.zeros((1, 4), "float32"))
  assert float(loss) == pytest.approx(math.log(4) / 2)


def test_an_end_counts_half_in_the_mean_and_whole_in_the_sum():
  positions = np.array([0, 1])
  expected = [math.log(4), math.log(2)]
  np.testing.assert_allclose(
    SpanLoss("sum").call(positions, _LOGITS), expected, rtol=1e-6
  )
  np.testing.assert_allclose(
    SpanLoss("mean").call(positions, _LOGITS), np.divide(expected, 2), rtol=1e-6
  )


def test_batch_is_averaged_over_windows():
  loss = SpanLoss("sum")(np.array([0, 1]), _LOGITS)
  assert float(loss) == pytest.approx((math.log(4) + math.log(2)) / 2)


@pytest.mark.parametrize("outside", [-1, 3, 1000])
def test_position_outside_the_sequence_adds_nothing(outside):
  logits = tf.Variable([[1.0, 2.0, 3.0]])
  with tf.GradientTape() as tape:
    losses = SpanLoss().call(tf.constant([outside]), logits)
  np.testing.assert_array_equal(losses, [0.0])
  np.testing.assert_array_equal(tape.gradient(losses, logits), np.zeros((1, 3)))


def test_padding_takes_part_in_the_softmax():
  loss = SpanLoss("sum")
  short, padded = np.zeros((1, 2), "float32"), np.zeros((1, 8), "float32")
  assert float(loss([1], short)) == pytest.approx(math.log(2))
  assert float(loss([1], padded)) == pytest.approx(math.log(8))


def test_half_precision_logits_are_computed_in_float32():
  losses = SpanLoss("sum").call([0], tf.zeros([1, 3], tf.bfloat16))
  assert losses.dtype == "float32"
  np.testing.assert_allclose(losses, [math.log(3)], rtol=1e-6)


def test_large_logits_stay_finite():
  logits = np.array([[1e4, -1e4]], "float32")
  assert float(SpanLoss("sum")([1], logits)) == pytest.approx(2e4)


def test_positions_are_exact_although_keras_makes_them_floats():
  logits = np.zeros((1, 512), "float32")
  logits[0, 511] = 5.0
  expected = math.log(511 * math.exp(-5.0) + 1)
  assert float(SpanLoss("sum")([511], logits)) == pytest.approx(expected, 1e-5)


def test_unknown_ends_are_refused():
  with pytest.raises(ValueError, match=r"mean, sum.*Received: 'average'"):
    SpanLoss("average")
