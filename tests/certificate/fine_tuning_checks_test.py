"""Check 9: the original's fine-tuning run, repeated."""

import pytest
from altered_goldens import altered

from bert_span.certificate.fine_tuning_checks import compare_fine_tuning


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
