"""Batches in equal parts, several steps in a call, and seeds of dropout."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span.training.options import ExecutionOptions, TrainOptions
from bert_span.training.step import TrainStep
from bert_span.training.step_runner import (
  StepRunner,
  compiles_steps,
  seed_dropout,
  split_batch,
)
from bert_span.training.strategy import device_kind


@pytest.mark.skipif(
  bool(tf.config.list_physical_devices("GPU")), reason="there is a GPU"
)
def test_a_cpu_is_no_accelerator_and_does_not_compile():
  strategy = tf.distribute.get_strategy()
  assert device_kind(strategy) == "CPU"
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


def _runner(most_steps):
  """A runner that trains one weight, w, by the losses x w of a row."""
  model = keras.Sequential(
    [
      keras.Input([1]),
      keras.layers.Dense(1, use_bias=False, kernel_initializer="ones"),
    ]
  )
  optimizer = keras.optimizers.SGD(0.5)
  optimizer.build(model.trainable_variables)
  step = TrainStep(
    model,
    model.trainable_variables,
    lambda model, batch: model(batch["x"], training=True)[:, 0],
    optimizer,
    TrainOptions(train_batch_size=2, clip_norm=100.0),
  )
  rows = np.array([[[1.0], [3.0]], [[0.0], [2.0]], [[4.0], [4.0]]], "float32")
  return model, StepRunner(
    tf.distribute.get_strategy(),
    step,
    tf.Variable(0, dtype=tf.int64),
    tf.data.Dataset.from_tensor_slices({"x": rows}),
    most_steps,
  )


@pytest.mark.parametrize("counts", [[1, 1, 1], [2, 1]])
def test_steps_are_the_same_whether_a_call_makes_one_or_several(counts):
  model, runner = _runner(max(counts))
  metrics = [row for count in counts for row in runner.run(count)]
  # The gradients are the means of rows, 2, 1 and 4; w is 1, 0, -0.5, -2.5.
  assert [row["global_norm"] for row in metrics] == [2.0, 1.0, 4.0]
  assert [row["loss"] for row in metrics] == [2.0, 0.0, -2.0]
  assert model.get_weights()[0] == [[-2.5]]
  assert runner.num_traces == 1
  with pytest.raises(ValueError, match=r"step 3.*dataset_fn"):
    runner.run(1)


def test_a_seed_gives_every_generator_a_seed_of_its_own():
  def seeds(seed):
    inputs = keras.Input([4])
    layers = keras.layers.Dropout(0.5), keras.layers.Dropout(0.5)
    model = keras.Model(inputs, layers[1](layers[0](inputs)))
    model(np.ones([1, 4]), training=True)  # draws
    seed_dropout(model, seed)
    states = [layer.seed_generator.state.numpy() for layer in layers]
    assert [draws for _, draws in states] == [0, 0]
    return tuple(int(seed) for seed, _ in states)

  one, other = seeds(1), seeds(2)
  assert one == seeds(1)
  assert len({*one, *other}) == 4
