import numpy as np
import pytest

from bert_span.training.learning_rate import WarmupLinearDecay


def test_rate_rises_through_the_warm_up_and_then_falls():
  schedule = WarmupLinearDecay(1e-3, num_train_steps=40, num_warmup_steps=10)
  rates = [float(schedule(step)) for step in (0, 5, 9, 10, 20, 39, 40, 41)]
  np.testing.assert_allclose(
    rates, [0, 5e-4, 9e-4, 7.5e-4, 5e-4, 2.5e-5, 0, 0], rtol=1e-5
  )


def test_a_step_ahead_has_the_rate_of_the_next_step():
  schedule = WarmupLinearDecay(1e-3, 40, num_warmup_steps=10)
  ahead = WarmupLinearDecay(1e-3, 40, num_warmup_steps=10, steps_ahead=1)
  for step in (0, 8, 9, 10, 38, 39):
    assert float(ahead(step)) == float(schedule(step + 1))


def test_without_warm_up_the_first_step_has_the_peak():
  schedule = WarmupLinearDecay(5e-5, num_train_steps=100)
  assert float(schedule(0)) == np.float32(5e-5)
  assert float(schedule(100)) == 0.0


@pytest.mark.parametrize(
  ("arguments", "named"),
  [
    ((float("nan"), 10, 1), "learning_rate"),
    ((-1e-3, 10, 1), "learning_rate"),
    ((1e-3, 0, 0), "num_train_steps"),
    ((1e-3, 10, -1), "num_warmup_steps"),
  ],
)
def test_an_impossible_argument_is_named(arguments, named):
  with pytest.raises(ValueError, match=named):
    WarmupLinearDecay(*arguments)
