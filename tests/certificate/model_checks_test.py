"""Check 3: model function, loss, training."""

import pytest
from altered_goldens import altered

from bert_span.certificate.model_checks import compare_loss, compare_model


@pytest.mark.large
def test_outputs_losses_and_twenty_steps_are_the_originals(original):
  comparisons = compare_model(original)
  for comparison in comparisons:
    assert comparison.passes, (comparison.name, comparison.failures)
  cases = {comparison.name: comparison.cases for comparison in comparisons}
  assert cases["Model: start_logits"] == 64
  assert cases["Answering: start_logits"] == 64
  assert cases["Training: loss of each of 20 steps"] == 20
  assert cases["Training: weights after 20 steps"] == 37


def test_a_loss_that_differs_a_little_fails(original):
  def change(arrays):
    return {**arrays, "total_loss": arrays["total_loss"] + 3e-5}

  goldens = altered(original, "model_loss_b64.npz", change)
  assert not compare_loss(goldens).passes
