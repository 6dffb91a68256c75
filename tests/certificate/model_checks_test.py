"""Point 3: model function, loss, training."""

import pytest
from altered_goldens import altered

from bert_span.certificate import model_checks


@pytest.mark.large
def test_outputs_losses_and_twenty_steps_are_the_originals(original):
  checks = model_checks.check_model(original)
  for check in checks:
    assert check.holds, (check.name, check.failures)
  cases = {check.name: check.cases for check in checks}
  assert cases["Model: start_logits"] == 64
  assert cases["Answering: start_logits"] == 64
  assert cases["Training: loss of each of 20 steps"] == 20
  assert cases["Training: weights after 20 steps"] == 37


def test_a_loss_that_is_off_by_a_little_is_noticed(original):
  def change(arrays):
    return {**arrays, "total_loss": arrays["total_loss"] + 3e-5}

  goldens = altered(original, "model_loss_b64.npz", change)
  (check,) = model_checks._check_loss(goldens)
  assert not check.holds
