"""The loss scale, and the step as a compiler sees it; see loop_test.py, too."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from distributed_checks import batches, compared_weights, make_model
from distributed_checks import max_difference as difference

from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.losses import SpanLoss
from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import TrainOptions
from bert_span.training.step import LossScale, TrainStep


def make_step(dropout=0.0, num_layers=2):
  model = make_model(dropout, num_layers)
  optimizer = BertAdamW(1e-2)
  optimizer.build(model.trainable_variables)
  step = TrainStep(
    model,
    SPAN_HEAD.loss_fn(SpanLoss()),
    optimizer,
    TrainOptions(train_batch_size=4, clip_norm=0.5),
  )
  return step, model


def batch_of_static_shape():
  return next(iter(batches(4, 0)))


@pytest.mark.large
def test_the_whole_step_compiles_at_a_static_shape():
  """As a TPU compiles it: forward, backward, clipping and Adam in one."""
  batch = batch_of_static_shape()
  plain_step, plain = make_step()
  whole_step, whole = make_step()
  plain_step = tf.function(plain_step)
  whole_step = tf.function(whole_step, jit_compile=True)
  for _ in range(3):
    expected, metrics = plain_step(batch), whole_step(batch)
  for name, value in expected.items():
    np.testing.assert_allclose(metrics[name], value, rtol=1e-5)
  assert difference(compared_weights(plain), compared_weights(whole)) < 1e-5


@pytest.mark.large
def test_dropout_and_accumulation_compile_too():
  step, model = make_step(dropout=0.3, num_layers=1)
  parts = {
    name: tf.reshape(tensor, [2, 2, *tensor.shape[1:]])
    for name, tensor in batch_of_static_shape().items()
  }

  @tf.function(jit_compile=True)
  def whole(parts, weights):
    gradients, metrics = step.gradients(parts, weights)
    step.update(gradients, metrics["global_norm"])
    return metrics

  metrics = whole(parts, tf.ones([2, 2]))
  assert np.isfinite(metrics["global_norm"])
  states = [v for v in model.variables if v.name == "seed_generator_state"]
  assert all(state.numpy()[1] == 2 for state in states)  # once a micro-batch


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
