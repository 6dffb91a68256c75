"""Dropout masks that differ from device to device."""

import numpy as np
import tensorflow as tf

from bert_span.training.run.checkpoints import random_states

# Seeds lie below it, so no two devices share one.
_SEED_RANGE = 2**31
_STATE = "seed_generator_state"  # [seed, draws made]


def seed_dropout(model, seed):
  """Sets the model's random generators, so that a seed fixes the masks.

  Args:
    model: keras.Model.
    seed: int; each generator gets a seed of its own that derives from it.
  """
  generator = np.random.default_rng(seed)
  for state in _dropout_states(model):
    state.assign([int(generator.integers(_SEED_RANGE)), 0])


def spread_dropout(model, strategy):
  """Gives every device masks of its own.

  Keras seeds all devices alike, so that device 1 would drop what device 0
  drops. Here device r adds r * 2^31 to every seed. A checkpoint holds the
  seeds of device 0: call it again after one was restored.

  Args:
    model: keras.Model, built in the scope of the strategy.
    strategy: tf.distribute.Strategy.
  """
  states = _dropout_states(model)
  if strategy.num_replicas_in_sync == 1 or not states:
    return

  def offset():
    context = tf.distribute.get_replica_context()
    device = tf.cast(context.replica_id_in_sync_group, tf.int64)
    for state in states:
      seed, draws = tf.unstack(tf.cast(state.value, tf.int64))
      state.assign(tf.stack([seed % _SEED_RANGE + device * _SEED_RANGE, draws]))

  tf.function(lambda: strategy.run(offset))()


def _dropout_states(model):
  return [state for state in random_states(model) if state.name == _STATE]
