"""The loss of pre-training equals its formula."""

import numpy as np
import pytest

from bert_span.pretraining.loss import (
  OBJECTIVES,
  prediction_sums,
  pretraining_inputs,
  pretraining_loss_fn,
  with_batch_weights,
)
from tests.support.training import tiny_batch, tiny_model


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


@pytest.mark.parametrize("weights", [[1, 1.0], [1, 0.25], [1]])
def test_the_loss_of_a_batch_is_the_sum_of_weighted_means(weights):
  batch = tiny_batch()
  model = tiny_model(span_boundary=len(weights) == 2, dropout=0.0)
  loss_fn = pretraining_loss_fn(weights[-1])
  weighted = with_batch_weights(batch)
  losses, parts = loss_fn(model, weighted)
  logits = model(pretraining_inputs(batch))
  names = ["mlm", "sbo"][: len(weights)]
  means = [by_hand(logits[f"{n}_logits"].numpy(), batch, n) for n in names]
  assert tuple(losses.shape) == (3,)
  np.testing.assert_allclose(
    np.sum(losses) / 3, weights @ np.array(means), 1e-5
  )
  assert list(parts) == [f"{name}_loss" for name in names]
  np.testing.assert_allclose(
    np.sum([*parts.values()], axis=1) / 3, means, rtol=1e-5
  )
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
  losses = -log_softmax(logits[0])[[0, 1], [2, 1]]
  expected = {"mlm_loss": losses.sum(), "mlm_correct": 1, "mlm_targets": 2}
  expected |= {"sbo_loss": losses[0], "sbo_correct": 1, "sbo_targets": 1}
  assert {k: float(x) for k, x in sums.items()} == pytest.approx(expected, 1e-5)
