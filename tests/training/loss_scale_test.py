import keras
import pytest

from bert_span.training.optimizer import BertAdamW
from bert_span.training.step import LossScale


@pytest.fixture
def optimizer():
  optimizer = BertAdamW(0.1)
  optimizer.build([keras.Variable([1.0])])
  return optimizer


def test_an_infinite_gradient_halves_the_scale_down_to_one(optimizer):
  scale = LossScale(optimizer)
  for expected in (*(2.0**n for n in range(15, 0, -1)), 1.0, 1.0):
    assert float(scale.value) == expected
    assert bool(scale.is_lowest) == (expected == 1)
    scale.adjust(False)


def test_the_scale_doubles_after_2000_finite_steps_in_a_row(optimizer):
  scale = LossScale(optimizer)
  # A checkpoint of the optimizer holds the scale.
  names = [variable.name for variable in optimizer.variables[-2:]]
  assert names == ["loss_scale", "good_steps"]
  good_steps = optimizer.variables[-1]
  good_steps.assign(1998.0)
  scale.adjust(True)
  assert float(scale.value) == 2.0**15
  scale.adjust(True)
  assert float(scale.value) == 2.0**16
  assert float(good_steps) == 0.0
  good_steps.assign(1999.0)
  scale.adjust(False)
  assert float(scale.value) == 2.0**15
  assert float(good_steps) == 0.0
