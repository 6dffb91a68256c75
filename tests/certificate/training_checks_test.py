"""Checks 4 and 9: learning rates, updates, and a fine-tuning run."""

import pytest
from altered_goldens import altered

from bert_span.certificate.training_checks import (
  compare_fine_tuning,
  compare_optimizer,
)


@pytest.mark.large
def test_rates_and_updates_are_the_originals(original):
  comparisons = compare_optimizer(original)
  for comparison in comparisons:
    assert comparison.passes, comparison.failures
  rates, dense, with_embedding = comparisons
  assert rates.largest_difference == 0.0
  assert dense.cases == 40 * 9
  assert with_embedding.cases == 40 * 10


@pytest.mark.large
def test_a_rate_that_differs_in_the_last_bit_fails(original):
  def change(value):
    tables = {key: list(rates) for key, rates in value["tables"].items()}
    tables["5e-05/1113/111"][3] *= 1.0000001
    return {"tables": tables}

  goldens = altered(original, "learning_rate_tables.json", change)
  assert not compare_optimizer(goldens)[0].passes


@pytest.mark.large
def test_one_other_batch_fails(sample):
  def change(arrays):
    batches = arrays["batches"].copy()
    batches[3] = batches[4]
    return {**arrays, "batches": batches}

  goldens = altered(sample, "fine_tuning.npz", change)
  losses, weights, _ = compare_fine_tuning(goldens)
  assert not losses.passes
  assert losses.failures[0].startswith("step 3:")
  assert not weights.passes
