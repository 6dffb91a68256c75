"""The B/I/O loss against values computed by hand."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.bio_loss import BioLoss

# p of four positions, whose logarithms are logits.
_P = np.array(
  [[[0.5, 0.25, 0.25], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]]]
)
_LOGITS = np.log(_P).astype("float32")


def _one_hot(*classes):
  """[1, positions, 3]; None is a position without loss."""
  rows = [[0, 0, 0] if c is None else np.eye(3)[c] for c in classes]
  return np.array([rows], "float32")


def test_soft_labels_by_hand():
  """Two of three annotators say B, one O: 2/3, 0, 1/3."""
  labels = np.array([[[2 / 3, 0, 1 / 3], [1 / 3, 2 / 3, 0], [0, 0, 1]]])
  labels = np.concatenate([labels, np.zeros((1, 1, 3))], axis=1)
  expected = (
    -(2 * math.log(0.5) + math.log(0.25)) / 3
    - (math.log(0.2) + 2 * math.log(0.7)) / 3
    - math.log(0.8)
  )
  assert float(BioLoss()(labels, _LOGITS)) == pytest.approx(expected, abs=1e-6)


def test_one_hot_labels_by_hand():
  expected = -math.log(0.5) - math.log(0.7) - math.log(0.8)
  loss = BioLoss()(_one_hot(0, 1, 2, None), _LOGITS)
  assert float(loss) == pytest.approx(expected, abs=1e-6)


def test_one_hot_labels_have_the_loss_and_gradient_of_the_correct_class():
  """Sum over t_ij log p_ij, against -sum log p_{i, r(i)} written directly."""
  rng = np.random.default_rng(1)
  logits = tf.Variable(rng.normal(size=(2, 5, 3)).astype("float32"))
  correct = rng.integers(3, size=(2, 5))
  mask = np.array([[0, 1, 1, 1, 0], [0, 0, 1, 1, 1]], "float32")
  labels = np.eye(3, dtype="float32")[correct] * mask[..., np.newaxis]
  with tf.GradientTape(persistent=True) as tape:
    soft = tf.reduce_sum(BioLoss().call(labels, logits))
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(correct, logits)
    direct = tf.reduce_sum(sparse * mask)
  assert float(soft) == pytest.approx(float(direct), abs=1e-6)
  np.testing.assert_allclose(
    tape.gradient(soft, logits), tape.gradient(direct, logits), atol=1e-6
  )


def test_gradient_is_p_minus_t_on_passage_tokens_and_zero_elsewhere():
  logits = tf.Variable(_LOGITS)
  labels = np.array(
    [[[2 / 3, 0, 1 / 3], [0, 1, 0], [0, 0, 0], [0, 0, 0]]], "float32"
  )
  with tf.GradientTape() as tape:
    loss = BioLoss()(labels, logits)
  expected = (_P - labels) * [[[1], [1], [0], [0]]]
  np.testing.assert_allclose(
    tape.gradient(loss, logits), expected, rtol=1e-5, atol=1e-6
  )


def test_mean_divides_by_the_passage_tokens_of_each_window():
  logits = np.repeat(_LOGITS, 2, axis=0)
  labels = np.concatenate(
    [_one_hot(0, 1, None, None), _one_hot(None, None, 2, None)]
  )
  sums = [-math.log(0.5) - math.log(0.7), -math.log(0.8)]
  np.testing.assert_allclose(
    BioLoss("sum").call(labels, logits), sums, rtol=1e-6
  )
  means = [sums[0] / 2, sums[1]]
  np.testing.assert_allclose(
    BioLoss("mean").call(labels, logits), means, rtol=1e-6
  )
  assert float(BioLoss("mean")(labels, logits)) == pytest.approx(
    sum(means) / 2, abs=1e-6
  )


@pytest.mark.parametrize("tokens", ["sum", "mean"])
def test_a_window_without_a_passage_token_costs_nothing(tokens):
  losses = BioLoss(tokens).call(np.zeros((1, 4, 3)), _LOGITS)
  np.testing.assert_array_equal(losses, [0])


def test_class_weights_multiply_their_terms():
  loss = BioLoss(class_weights=(3, 2, 0.5))
  labels = np.array([[[0.5, 0, 0.5], [0, 1, 0], [0] * 3, [0] * 3]], "float32")
  expected = -3 * 0.5 * math.log(0.5) - 0.5 * 0.5 * math.log(0.25)
  expected -= 2 * math.log(0.7)
  assert float(loss(labels, _LOGITS)) == pytest.approx(expected, abs=1e-6)


def test_half_precision_logits_are_computed_in_float32():
  logits = tf.zeros([1, 1, 3], tf.bfloat16)
  losses = BioLoss().call([[[0.25, 0.25, 0.5]]], logits)
  assert losses.dtype == "float32"
  np.testing.assert_allclose(losses, [math.log(3)], rtol=1e-6)


def test_settings_survive_the_config_and_wrong_ones_are_refused():
  loss = BioLoss.from_config(BioLoss("mean", (1, 2, 3)).get_config())
  assert (loss.tokens, loss.class_weights) == ("mean", (1, 2, 3))
  with pytest.raises(ValueError, match=r"sum, mean.*Received: 'average'"):
    BioLoss("average")
  for weights in ((1, 2), (1, 0, 1), (1, 1, math.inf)):
    with pytest.raises(ValueError, match=r"three positive.*Received: \("):
      BioLoss(class_weights=weights)
