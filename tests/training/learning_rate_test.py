"""The learning rate, step by step."""

import numpy as np
import pytest

from bert_span.training.learning_rate import WarmupLinearDecay


def test_rate_rises_through_the_warm_up_and_then_falls():
  steps, expected = (5, 9, 10, 20, 39, 40, 41), [5, 9, 7.5, 5, 0.25, 0, 0]
  for ahead in (0, 1):
    schedule = WarmupLinearDecay(1e-3, 40, 10, steps_ahead=ahead)
    rates = [1e4 * float(schedule(step - ahead)) for step in steps]
    np.testing.assert_allclose(rates, expected, rtol=1e-5)
  assert float(WarmupLinearDecay(1e-3, 40, 10)(0)) == 0
  without_warm_up = WarmupLinearDecay(5e-5, num_train_steps=100)
  assert float(without_warm_up(0)) == np.float32(5e-5)


@pytest.mark.parametrize(
  ("arguments", "name"),
  [
    ((float("nan"), 10, 1), "learning_rate=nan"),
    ((float("inf"), 10, 1), "learning_rate=inf"),
    ((-1e-3, 10), "learning_rate=-0.001"),
    ((1e-3, 0), "num_train_steps.* 0 and 0"),
    ((1e-3, 10, -1), "num_warmup_steps.* 10 and -1"),
  ],
)
def test_an_argument_out_of_range_is_named(arguments, name):
  with pytest.raises(ValueError, match=name):
    WarmupLinearDecay(*arguments)
