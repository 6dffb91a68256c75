"""Point 4: learning rates and updates."""

import pytest
from altered_goldens import altered

from bert_span.certificate.optimizer_checks import check_optimizer


@pytest.mark.large
def test_rates_and_updates_are_the_originals(original):
  rates, dense, with_embedding = check_optimizer(original)
  assert rates.holds, rates.failures
  assert rates.largest_difference == 0.0
  assert dense.holds, dense.failures
  assert dense.cases == 40 * 9
  assert with_embedding.holds, with_embedding.failures
  assert with_embedding.cases == 40 * 10


@pytest.mark.large
def test_a_rate_that_differs_in_the_last_bit_is_noticed(original):
  def change(value):
    tables = {key: list(rates) for key, rates in value["tables"].items()}
    tables["5e-05/1113/111"][3] *= 1.0000001
    return {"tables": tables}

  goldens = altered(original, "learning_rate_tables.json", change)
  assert not check_optimizer(goldens)[0].holds
