"""The loss scale, and a step as a compiler sees it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span import BertAdamW
from bert_span.training.options import TrainOptions
from bert_span.training.step import LossScale, TrainStep
from tests.support.training import (
  LOSS_FN,
  batches,
  compared_weights,
  make_span_model,
  max_difference,
)


def train(jit_compile, **changes):
  """Makes three updates of two micro-batches each."""
  model = make_span_model(**changes)
  optimizer = BertAdamW(1e-2)
  variables = model.trainable_variables
  optimizer.build(variables)
  options = TrainOptions(train_batch_size=4, clip_norm=0.5)
  step = TrainStep(model, variables, LOSS_FN, optimizer, options)
  batch = next(iter(batches(4, 0)))
  parts = {n: tf.reshape(x, [2, 2, *x.shape[1:]]) for n, x in batch.items()}
  update = tf.function(step.update_from, jit_compile=jit_compile)
  metrics = [update(parts, tf.ones([2, 2])) for _ in range(3)]
  return metrics[-1], model


@pytest.mark.large
def test_the_whole_step_compiles_at_a_static_shape():
  """As a TPU compiles it: forward, backward, clipping and Adam in one."""
  (expected, plain), (metrics, whole) = map(train, (None, True))
  for name, value in expected.items():
    np.testing.assert_allclose(metrics[name], value, rtol=1e-5)
  weights = map(compared_weights, (plain, whole))
  assert max_difference(*weights) < 1e-5
  metrics, model = train(jit_compile=True, dropout=0.3, num_layers=1)
  assert np.isfinite(metrics["global_norm"])
  states = [v for v in model.variables if v.name == "seed_generator_state"]
  assert states and all(state.numpy()[1] == 6 for state in states)  # draws


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
  for steps_before, is_finite, exponent, steps_after in (
    (1998, True, 15, 1999),
    (1999, True, 16, 0),
    (1999, False, 15, 0),
  ):
    good_steps.assign(steps_before)
    scale.adjust(is_finite)
    assert float(scale.value) == 2.0**exponent
    assert float(good_steps) == steps_after
