import keras
import pytest

from bert_span.training.optimizer import BertAdamW
from bert_span.training.step import LossScale


def make_loss_scale():
  optimizer = BertAdamW(0.1)
  optimizer.build([keras.Variable([1.0])])
  return LossScale(optimizer), optimizer


def test_an_infinite_gradient_halves_the_scale_down_to_one():
  scale, _ = make_loss_scale()
  assert float(scale.value) == 2.0**15
  scale.adjust(False)
  assert float(scale.value) == 2.0**14
  assert not scale.is_lowest
  for _ in range(20):
    scale.adjust(False)
  assert float(scale.value) == 1.0
  assert scale.is_lowest


def test_the_scale_doubles_after_2000_finite_steps_in_a_row():
  scale, optimizer = make_loss_scale()
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


def test_a_checkpoint_of_the_optimizer_holds_the_scale():
  _, optimizer = make_loss_scale()
  names = [variable.name for variable in optimizer.variables]
  assert names[-2:] == ["loss_scale", "good_steps"]
  with pytest.raises(StopIteration):
    plain = BertAdamW(0.1)
    plain.build([keras.Variable([1.0])])
    next(v for v in plain.variables if v.name == "loss_scale")
