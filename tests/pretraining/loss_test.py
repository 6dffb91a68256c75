"""The loss of pre-training equals its formula."""

import numpy as np
import pytest
from tiny_pretraining import tiny_batch, tiny_model

from bert_span.pretraining.loss import (
  OBJECTIVES,
  model_inputs,
  prediction_sums,
  pretraining_loss_fn,
  with_batch_weights,
)


def log_softmax(x):
  x = np.float64(x) - np.max(x, -1, keepdims=True)
  return x - np.log(np.exp(x).sum(-1, keepdims=True))


def by_hand(logits, batch, name):
  """Mean of -log P over the targets, one after the other."""
  losses = [
    -log_softmax(logits[row, target])[batch["masked_ids"][row, target]]
    for row, target in np.argwhere(batch[OBJECTIVES[name]] > 0)
  ]
  return np.mean(losses)


@pytest.mark.parametrize("sbo_weight", [1.0, 0.25])
def test_the_loss_of_a_batch_is_the_sum_of_two_means(sbo_weight):
  batch = tiny_batch()
  model = tiny_model(dropout=0.0)
  loss_fn = pretraining_loss_fn(sbo_weight)
  weighted = with_batch_weights(batch)
  losses, parts = loss_fn(model, weighted)
  logits = model(model_inputs(batch))
  means = [
    by_hand(logits[f"{name}_logits"].numpy(), batch, name)
    for name in ("mlm", "sbo")
  ]
  assert tuple(losses.shape) == (3,)
  np.testing.assert_allclose(
    np.sum(losses) / 3, means[0] + sbo_weight * means[1], rtol=1e-5
  )
  for name, mean in zip(("mlm_loss", "sbo_loss"), means, strict=True):
    np.testing.assert_allclose(np.sum(parts[name]) / 3, mean, rtol=1e-5)
  # The same, whatever part of the targets a device holds.
  of_parts = [
    loss_fn(model, {key: value[rows] for key, value in weighted.items()})[0]
    for rows in (slice(0, 1), slice(1, 3))
  ]
  np.testing.assert_allclose(np.concatenate(of_parts), losses, rtol=1e-5)


def test_the_loss_is_computed_with_dropout():
  model, batch = tiny_model(), with_batch_weights(tiny_batch())
  losses = pretraining_loss_fn(1.0)
  (first, _), (second, _) = losses(model, batch), losses(model, batch)
  assert not np.array_equal(first.numpy(), second.numpy())


def test_without_the_span_boundary_logits_only_the_first_mean_counts():
  batch = with_batch_weights(tiny_batch())
  model = tiny_model(span_boundary=False, dropout=0.0)
  losses, parts = pretraining_loss_fn(1.0)(model, batch)
  np.testing.assert_array_equal(losses, parts["mlm_loss"])
  assert set(parts) == {"mlm_loss"}


def test_a_batch_without_targets_adds_nothing():
  nothing = np.zeros([2, 3], np.int32)
  batch = {"masked_positions": nothing, "sbo_positions": nothing}
  np.testing.assert_array_equal(
    with_batch_weights(batch)["sbo_weights"], nothing
  )


def test_sums_count_correct_tokens_and_targets():
  batch = {
    "masked_ids": np.array([[2, 1]], np.int32),
    "masked_positions": np.array([[3, 4]], np.int32),
    "sbo_positions": np.array([[1, 0]], np.int32),
  }
  logits = np.array([[[0.0, 1.0, 3.0], [2.0, 1.0, 0.0]]], np.float32)
  sums = prediction_sums({"mlm_logits": logits, "sbo_logits": logits}, batch)
  sums = {name: float(value) for name, value in sums.items()}
  losses = -log_softmax(logits[0])[[0, 1], [2, 1]]
  assert sums["mlm_correct"] == 1 and sums["mlm_targets"] == 2
  assert sums["sbo_correct"] == 1 and sums["sbo_targets"] == 1
  assert sums["mlm_loss"] == pytest.approx(losses.sum(), rel=1e-5)
  assert sums["sbo_loss"] == pytest.approx(losses[0], rel=1e-5)
