"""The loss of pre-training equals its formula."""

import numpy as np
import pytest
from tiny_pretraining import model_inputs, tiny_batch, tiny_model

from bert_span.pretraining.heads.loss import (
  batch_weights,
  prediction_sums,
  sequence_losses,
)


def log_softmax(x):
  x = np.float64(x) - np.max(x, -1, keepdims=True)
  return x - np.log(np.exp(x).sum(-1, keepdims=True))


def scaled(batch):
  weights = ("mlm_weights", "sbo_weights")
  return {**batch, **{name: batch_weights(batch[name]) for name in weights}}


def by_hand(logits, batch, name):
  """Mean of -log P over the targets, one after the other."""
  losses = [
    -log_softmax(logits[row, target])[batch["masked_ids"][row, target]]
    for row, target in np.argwhere(batch[f"{name}_weights"] == 1)
  ]
  return np.mean(losses)


@pytest.mark.parametrize("sbo_weight", [1.0, 0.25])
def test_the_loss_of_a_batch_is_the_sum_of_two_means(sbo_weight):
  batch = tiny_batch()
  logits = {
    name: value.numpy()
    for name, value in tiny_model()(model_inputs(batch)).items()
  }
  losses = sequence_losses(logits, scaled(batch), sbo_weight)
  assert tuple(losses.shape) == (3,)
  expected = by_hand(logits["mlm_logits"], batch, "mlm")
  expected += sbo_weight * by_hand(logits["sbo_logits"], batch, "sbo")
  np.testing.assert_allclose(np.sum(losses) / 3, expected, rtol=1e-5)


def test_shares_of_a_batch_sum_to_the_loss_of_the_batch():
  """Whatever share of the targets a device holds."""
  batch = scaled(tiny_batch())
  model = tiny_model()
  whole = sequence_losses(model(model_inputs(batch)), batch)
  parts = []
  for rows in (slice(0, 1), slice(1, 3)):
    part = {name: np.asarray(value)[rows] for name, value in batch.items()}
    parts += sequence_losses(model(model_inputs(part)), part).numpy().tolist()
  np.testing.assert_allclose(parts, whole, rtol=1e-5)


def test_without_the_span_boundary_logits_only_the_first_mean_counts():
  batch = scaled(tiny_batch())
  logits = tiny_model()(model_inputs(batch))
  alone = {"mlm_logits": logits["mlm_logits"]}
  np.testing.assert_allclose(
    sequence_losses(alone, batch),
    sequence_losses(logits, batch, 0.0),
    rtol=1e-6,
  )


def test_a_batch_without_targets_adds_nothing():
  weights = np.zeros((2, 3), np.float32)
  np.testing.assert_array_equal(batch_weights(weights), weights)


def test_scaled_weights_sum_to_the_number_of_sequences():
  weights = np.array([[1, 1, 0], [1, 0, 0]], np.float32)
  np.testing.assert_allclose(
    batch_weights(weights), [[2 / 3, 2 / 3, 0], [2 / 3, 0, 0]], rtol=1e-6
  )


def test_sums_count_right_tokens_and_targets():
  batch = {
    "masked_ids": np.array([[2, 1]], np.int32),
    "mlm_weights": np.array([[1, 1]], np.float32),
    "sbo_weights": np.array([[1, 0]], np.float32),
  }
  logits = np.array([[[0.0, 1.0, 3.0], [2.0, 1.0, 0.0]]], np.float32)
  sums = prediction_sums({"mlm_logits": logits, "sbo_logits": logits}, batch)
  sums = {name: float(value) for name, value in sums.items()}
  losses = -log_softmax(logits[0])[[0, 1], [2, 1]]
  assert sums["mlm_correct"] == 1 and sums["mlm_targets"] == 2
  assert sums["sbo_correct"] == 1 and sums["sbo_targets"] == 1
  assert sums["mlm_loss"] == pytest.approx(losses.sum(), rel=1e-5)
  assert sums["sbo_loss"] == pytest.approx(losses[0], rel=1e-5)
