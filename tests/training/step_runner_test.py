import numpy as np
import pytest
import tensorflow as tf
from toy_trainer import BATCH, dataset_fn, loss_fn, make_model

from bert_span.training.optimizer import BertAdamW
from bert_span.training.step import TrainStep
from bert_span.training.step_runner import (
  StepRunner,
  compiles_steps,
  steps_per_call,
)


def make_runner(num_steps=5, **options):
  model = make_model()
  optimizer = BertAdamW(1e-2)
  optimizer.build(model.trainable_variables)
  step = TrainStep(model, loss_fn, optimizer, BATCH, clip_norm=0.5)
  counter = tf.Variable(0, dtype=tf.int64)
  runner = StepRunner(
    tf.distribute.get_strategy(),
    step,
    counter,
    dataset_fn(0, num_steps),
    num_micro_batches=1,
    **options,
  )
  return runner, counter, model


def test_several_steps_in_a_call_are_those_of_as_many_calls():
  runner, counter, model = make_runner(most_steps=1)
  single = [metrics for _ in range(5) for metrics in runner.run(1)]
  several_runner, several_counter, several_model = make_runner(most_steps=3)
  several = several_runner.run(3) + several_runner.run(2)
  assert int(counter) == int(several_counter) == 5
  assert runner.num_traces == several_runner.num_traces == 1
  for expected, metrics in zip(single, several, strict=True):
    assert set(metrics) == {"loss", "learning_rate", "global_norm"}
    for name, value in expected.items():
      np.testing.assert_allclose(metrics[name], value, rtol=1e-5)
  for weight, other in zip(
    model.get_weights(), several_model.get_weights(), strict=True
  ):
    np.testing.assert_allclose(weight, other, rtol=1e-4, atol=1e-6)


def test_data_that_end_give_fewer_steps():
  runner, counter, _ = make_runner(num_steps=2, most_steps=1)
  assert [len(runner.run(1)) for _ in range(3)] == [1, 1, 0]
  assert int(counter) == 2


@pytest.mark.skipif(
  bool(tf.config.list_physical_devices("GPU")), reason="there is a GPU"
)
def test_a_cpu_makes_a_call_a_step_and_does_not_compile():
  strategy = tf.distribute.get_strategy()
  assert steps_per_call(strategy, 20) == 1
  static = {"ids": tf.TensorSpec([4, 12], tf.int32)}
  assert not compiles_steps("auto", strategy, static)
  assert compiles_steps("on", strategy, static)
