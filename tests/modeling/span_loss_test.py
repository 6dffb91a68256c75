"""The span loss against values computed by hand and the original's."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.span_loss import SpanLoss, position_losses


def test_equal_logits_cost_the_logarithm_of_the_length():
  logits = np.zeros((1, 4), "float32")
  loss = SpanLoss()(logits, logits, np.array([2]), np.array([3]))
  assert float(loss) == pytest.approx(math.log(4))


def test_loss_is_the_mean_of_start_and_end_by_hand():
  # Softmax of [0, ln 3] is [1/4, 3/4]; of [0, 0] it is [1/2, 1/2].
  start = np.array([[0.0, math.log(3)]], "float32")
  end = np.zeros((1, 2), "float32")
  expected = (math.log(4) + math.log(2)) / 2
  assert float(
    SpanLoss()(start, end, np.array([0]), np.array([1]))
  ) == pytest.approx(expected)


def test_sum_reduction_is_twice_the_mean():
  start = np.array([[0.0, math.log(3)]], "float32")
  end = np.zeros((1, 2), "float32")
  expected = math.log(4) + math.log(2)
  loss = SpanLoss("sum")(start, end, np.array([0]), np.array([1]))
  assert float(loss) == pytest.approx(expected)


def test_batch_is_averaged_over_windows():
  start = np.array([[0.0, math.log(3)], [0.0, 0.0]], "float32")
  positions = np.array([0, 0])
  loss = SpanLoss()
  windows = loss.window_losses(start, start, positions, positions)
  np.testing.assert_allclose(windows, [math.log(4), math.log(2)], rtol=1e-6)
  assert float(loss(start, start, positions, positions)) == pytest.approx(
    (math.log(4) + math.log(2)) / 2
  )


@pytest.mark.parametrize("outside", [-1, 3, 1000])
def test_position_outside_the_sequence_adds_nothing(outside):
  logits = tf.Variable([[1.0, 2.0, 3.0]])
  with tf.GradientTape() as tape:
    losses = position_losses(logits, tf.constant([outside]))
  np.testing.assert_array_equal(losses, [0.0])
  np.testing.assert_array_equal(tape.gradient(losses, logits), np.zeros((1, 3)))


def test_padding_takes_part_in_the_softmax():
  short = np.zeros((1, 2), "float32")
  padded = np.zeros((1, 8), "float32")
  assert float(position_losses(short, [1])[0]) == pytest.approx(math.log(2))
  assert float(position_losses(padded, [1])[0]) == pytest.approx(math.log(8))


def test_half_precision_logits_are_computed_in_float32():
  logits = tf.constant([[0.0, 0.0, 0.0]], tf.bfloat16)
  losses = SpanLoss().window_losses(logits, logits, [0], [2])
  assert losses.dtype == "float32"
  np.testing.assert_allclose(losses, [math.log(3)], rtol=1e-6)


def test_large_logits_stay_finite():
  logits = np.array([[1e4, -1e4]], "float32")
  assert float(position_losses(logits, [1])[0]) == pytest.approx(2e4)


def test_unknown_reduction_is_refused():
  with pytest.raises(ValueError, match=r"mean, sum.*Received: 'average'"):
    SpanLoss("average")


def test_reduction_survives_the_config():
  assert SpanLoss.from_config(SpanLoss("sum").get_config()).reduction == "sum"
