import numpy as np
import pytest
import tensorflow as tf
from toy_trainer import BATCH, dataset_fn, loss_fn, make_model

from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import ExecutionOptions, TrainOptions
from bert_span.training.step import TrainStep
from bert_span.training.step_runner import (
  StepRunner,
  compiles_steps,
  split_batch,
)
from bert_span.training.strategy import computes_on_accelerator


def make_runner(most_steps):
  model = make_model()
  optimizer = BertAdamW(1e-2)
  optimizer.build(model.trainable_variables)
  step = TrainStep(
    model,
    loss_fn,
    optimizer,
    TrainOptions(train_batch_size=BATCH, clip_norm=0.5),
  )
  counter = tf.Variable(0, dtype=tf.int64)
  runner = StepRunner(
    tf.distribute.get_strategy(),
    step,
    counter,
    dataset_fn(0),
    most_steps,
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


@pytest.mark.skipif(
  bool(tf.config.list_physical_devices("GPU")), reason="there is a GPU"
)
def test_a_cpu_is_no_accelerator_and_does_not_compile():
  strategy = tf.distribute.get_strategy()
  assert not computes_on_accelerator(strategy)
  static = tf.data.Dataset.from_tensors({"ids": tf.zeros([4, 12], tf.int32)})
  assert not compiles_steps(ExecutionOptions(), strategy, static)
  assert compiles_steps(ExecutionOptions(jit_compile="on"), strategy, static)


@pytest.mark.parametrize("rows", [1, 5, 6, 8])
def test_every_row_counts_once(rows):
  batch = {"ids": tf.range(rows), "mask": tf.ones([rows, 3, 2])}
  batches, weights = split_batch(batch, 3, 2)
  real = batches["ids"].numpy()[weights.numpy() == 1]
  assert real.tolist() == list(range(rows))
  assert batches["mask"].shape[3:] == (3, 2)


def test_shapes_stay_static_where_they_are():
  specs = {"ids": tf.TensorSpec([32, 384], tf.int32)}
  dataset = tf.data.Dataset.from_generator(list, output_signature=specs)
  (spec, weights) = dataset.map(lambda b: split_batch(b, 8, 2)).element_spec
  assert spec["ids"].shape == (8, 2, 2, 384)
  assert spec["ids"].dtype == tf.int32
  assert weights.shape == (8, 2, 2)
