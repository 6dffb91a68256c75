"""A Trainer of a token classifier that takes milliseconds a step."""

import shutil

import keras
import numpy as np
import tensorflow as tf

from bert_span.training.learning_rate import WarmupLinearDecay
from bert_span.training.loop import Trainer
from bert_span.training.optimizer import BertAdamW
from bert_span.training.options import TrainOptions

NUM_STEPS = 7
BATCH = 4
VOCAB = 20


def make_model(width=6, dropout=0.3, seed=3):
  """A token classifier small enough to train in milliseconds a step."""
  keras.utils.set_random_seed(seed)
  tokens = keras.Input([None], dtype="int32")
  hidden = keras.layers.Embedding(VOCAB, width)(tokens)
  hidden = keras.layers.LayerNormalization(name="layer_norm")(hidden)
  hidden = keras.layers.Dropout(dropout)(hidden)
  pooled = keras.layers.Dense(3, name="pooler")(hidden)
  logits = keras.layers.Dense(1, name="logits")(hidden)
  return keras.Model(tokens, {"logits": logits, "pooled": pooled})


def loss_fn(model, batch):
  logits = model(batch["input_ids"], training=True)["logits"][..., 0]
  return tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=batch["positions"], logits=logits
  )


def make_batch(step):
  """The batch of a step: other length, other windows, nothing but its step."""
  generator = np.random.default_rng(step)
  length = 3 + step % 4
  ids = generator.integers(0, VOCAB, (BATCH, length))
  positions = generator.integers(0, length, BATCH)
  return {
    "input_ids": ids.astype(np.int32),
    "positions": positions.astype(np.int32),
  }


def dataset_fn(first_step, last_step=1000, make=make_batch):
  specs = {
    name: tf.TensorSpec([None] * values.ndim, values.dtype)
    for name, values in make(0).items()
  }
  return tf.data.Dataset.from_generator(
    lambda: map(make, range(first_step, last_step)), output_signature=specs
  )


def make_trainer(
  output_dir,
  model=None,
  rate=0.1,
  callbacks=(),
  num_train_steps=NUM_STEPS,
  **options,
):
  model = model or make_model()
  defaults = {"train_batch_size": BATCH, "save_checkpoints_steps": 2, "seed": 0}
  schedule = WarmupLinearDecay(rate, num_train_steps, 2)
  return Trainer(
    model,
    loss_fn,
    BertAdamW(schedule),
    num_train_steps,
    TrainOptions(**{**defaults, **options}),
    output_dir,
    fingerprint={"max_seq_length": 384},
    callbacks=callbacks,
  )


def all_values(trainer):
  variables = [*trainer.model.variables, *trainer.optimizer.variables]
  return [variable.numpy() for variable in variables]


def assert_same(values, expected):
  for value, other in zip(values, expected, strict=True):
    np.testing.assert_array_equal(value, other)


def copy_stopped(run, stopped, step):
  """Copies the folder of a run as if it had been stopped after a step."""
  shutil.copytree(run, stopped)
  newest = str(stopped / f"model.ckpt-{step}")
  tf.compat.v1.train.update_checkpoint_state(str(stopped), newest, [newest])


def assert_same_checkpoint(output_dir, expected_dir):
  """Compares all that the latest checkpoints hold, but TensorFlow's notes."""
  found, expected = map(_checkpoint_tensors, (output_dir, expected_dir))
  assert set(found) == set(expected)
  for name, value in expected.items():
    np.testing.assert_array_equal(found[name], value, err_msg=name)


def _checkpoint_tensors(output_dir):
  reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(output_dir))
  return {
    name: reader.get_tensor(name)
    for name in reader.get_variable_to_shape_map()
    if "OBJECT_GRAPH" not in name and "save_counter" not in name
  }
