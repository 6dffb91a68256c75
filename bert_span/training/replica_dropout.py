"""Dropout masks that differ from replica to replica."""

import numpy as np
import tensorflow as tf

from bert_span.training.run.checkpoints import random_states

# Seeds are below it, so no two replicas share one.
_SEED_RANGE = 2**31
_STATE = "seed_generator_state"  # [seed, draws made]


def seed_dropout(model, seed):
  """Gives each random generator of the model a seed made from `seed`."""
  generator = np.random.default_rng(seed)
  for state in _dropout_states(model):
    state.assign([int(generator.integers(_SEED_RANGE)), 0])


def spread_dropout(model, strategy):
  """Gives every replica its own masks.

  Keras seeds all replicas alike, so that replica 1 would drop what replica 0
  drops. Here replica r adds r * 2^31 to every seed. A checkpoint holds the
  seeds of replica 0: call this again after one was restored.
  """
  states = _dropout_states(model)
  if strategy.num_replicas_in_sync == 1 or not states:
    return

  def offset():
    context = tf.distribute.get_replica_context()
    replica = tf.cast(context.replica_id_in_sync_group, tf.int64)
    for state in states:
      seed, draws = tf.unstack(tf.cast(state.value, tf.int64))
      seed = seed % _SEED_RANGE + replica * _SEED_RANGE
      state.assign(tf.stack([seed, draws]))

  tf.function(lambda: strategy.run(offset))()


def _dropout_states(model):
  return [state for state in random_states(model) if state.name == _STATE]
