import numpy as np
import pytest
import tensorflow as tf
from distributed_checks import batches, compared_weights, make_model

from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.losses import SpanLoss
from bert_span.training.optimizer import create_optimizer
from bert_span.training.options import ExecutionOptions
from bert_span.training.step import make_train_step
from bert_span.training.step_runner import (
  ShareRunner,
  WholeBatchRunner,
  compiles_steps,
  steps_per_call,
)


def make_step():
  model = make_model(dropout=0.3)
  optimizer = create_optimizer(1e-2)
  optimizer.build(model.trainable_variables)
  step = make_train_step(
    model, SPAN_HEAD.loss_fn(SpanLoss()), optimizer, 4, 0.5
  )
  return step, tf.Variable(0, dtype=tf.int64), model


def share_runner(step, counter, per_call, num_steps=5):
  return ShareRunner(
    *(tf.distribute.get_strategy(), step, counter),
    *(lambda: batches(4, 0, num_steps), 4, 1, per_call),
  )


@pytest.mark.large
def test_several_steps_in_a_call_are_those_of_as_many_calls():
  step, counter, model = make_step()
  single = WholeBatchRunner(step, counter, batches(4, 0)).run(5)
  several_step, several_counter, several_model = make_step()
  runner = share_runner(several_step, several_counter, per_call=3)
  made = runner.run(3) + runner.run(2)
  assert int(counter) == int(several_counter) == 5
  assert runner.num_traces == 1
  for (expected, windows), (numbers, other) in zip(single, made, strict=True):
    assert windows == other == 4
    assert set(numbers) == set(expected)
    for name, value in expected.items():
      np.testing.assert_allclose(numbers[name], value, rtol=1e-5)
  expected, weights = compared_weights(model), compared_weights(several_model)
  for path, value in expected.items():
    np.testing.assert_allclose(weights[path], value, rtol=1e-4, atol=1e-6)


@pytest.mark.large
def test_data_that_end_are_told_by_fewer_steps():
  step, counter, _ = make_step()
  runner = WholeBatchRunner(step, counter, batches(4, 0, num_steps=2))
  assert [len(runner.run(1)) for _ in range(3)] == [1, 1, 0]
  step, counter, _ = make_step()
  runner = share_runner(step, counter, per_call=1, num_steps=2)
  assert [len(runner.run(1)) for _ in range(3)] == [1, 1, 0]
  assert int(counter) == 2


@pytest.mark.skipif(
  bool(tf.config.list_physical_devices("GPU")), reason="there is a GPU"
)
def test_a_cpu_makes_a_call_a_step_and_does_not_compile():
  strategy = tf.distribute.get_strategy()
  assert steps_per_call(strategy, 20) == 1
  static = {"ids": tf.TensorSpec([4, 12], tf.int32)}
  assert not compiles_steps(ExecutionOptions(), strategy, static)
  asked = ExecutionOptions(jit_compile="on")
  assert compiles_steps(asked, strategy, static)
