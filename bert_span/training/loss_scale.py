"""The factor that keeps gradients in float16 from underflow."""

import tensorflow as tf

_FIRST = 2.0**15
_LOWEST = 1.0
_FACTOR = 2.0
# Updates in a row after which a larger factor is tried.
_GROWTH_STEPS = 2000


class LossScale:
  """Multiplies the loss, and is halved when a gradient overflows.

  float16 holds no number below 6e-8 and none above 65504. The loss is
  multiplied by the scale before gradients are taken, and the gradients are
  divided by it. After a step with an infinite gradient the update is skipped
  and the scale halved. After 2000 updates in a row it is doubled.

  Whether a step is skipped is decided on the gradients summed over all
  replicas, so all replicas decide the same. (Keras' LossScaleOptimizer looks
  at the first replica only.)

  Its two numbers are variables of the built optimizer, so that a checkpoint of
  the optimizer holds them.
  """

  def __init__(self, optimizer):
    self._scale = optimizer.add_variable(
      shape=(), initializer="ones", dtype="float32", name="loss_scale"
    )
    self._scale.assign(_FIRST)
    self._good_steps = optimizer.add_variable(
      shape=(), initializer="zeros", dtype="float32", name="good_steps"
    )

  @property
  def value(self):
    """float32 scalar, the scale of this step."""
    return tf.identity(self._scale.value)

  @property
  def is_lowest(self):
    """Whether the scale cannot be halved; bool."""
    return self._scale.value <= _LOWEST

  def adjust(self, is_finite):
    """Adapts the scale after a step, in cross-replica context."""
    scale, good_steps = self._scale.value, self._good_steps.value + 1.0
    grows = tf.logical_and(is_finite, good_steps >= _GROWTH_STEPS)
    halved = tf.maximum(scale / _FACTOR, _LOWEST)
    kept = tf.where(grows, scale * _FACTOR, scale)
    new_scale = tf.where(is_finite, kept, halved)
    restarts = tf.logical_or(grows, tf.logical_not(is_finite))
    self._good_steps.assign(tf.where(restarts, 0.0, good_steps))
    self._scale.assign(new_scale)
