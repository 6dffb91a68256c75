"""The learning rate of BERT: linear warm-up, then linear decay to zero."""

import math

import keras
import numpy as np
import tensorflow as tf


@keras.saving.register_keras_serializable(package="bert_span")
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
  """Rises from 0 during the warm-up, then decays linearly to 0.

  With T = num_train_steps and W = num_warmup_steps, at step t (the number of
  updates made before this one):

      rate(t) = learning_rate * t / W                if t < W
      rate(t) = learning_rate * (1 - min(t, T) / T)  otherwise

  As run_squad: the decay starts at step 0 and not at W, so the rate drops when
  the warm-up ends. If W > T, it rises until W.

  Example:
      schedule = WarmupLinearDecay(1e-3, 40, num_warmup_steps=10)
      [float(schedule(step)) for step in (0, 9, 10, 40)]
      # [0.0, 0.0009, 0.00075, 0.0]

  Args:
    learning_rate: the peak, per update; not negative.
    num_train_steps: steps until the rate is 0; at least 1.
    num_warmup_steps: steps of warm-up; 0 for none.
    steps_ahead: added to the step count. With 1, step t has rate(t + 1), as on
      some runs of run_squad, which reads and raises its step count in a race.

  Source: google-research/bert, optimization.py, create_optimizer.
  """

  def __init__(
    self, learning_rate, num_train_steps, num_warmup_steps=0, steps_ahead=0
  ):
    super().__init__()
    if not 0 <= learning_rate < math.inf:
      raise ValueError(
        "learning_rate must be finite and not negative. "
        f"Received: learning_rate={learning_rate}"
      )
    if num_train_steps < 1 or num_warmup_steps < 0:
      raise ValueError(
        "num_train_steps must be at least 1, num_warmup_steps at least 0: give "
        "more examples or epochs, or a smaller batch. Received: "
        f"{num_train_steps} and {num_warmup_steps}"
      )
    self.learning_rate = float(learning_rate)
    self.num_train_steps = int(num_train_steps)
    self.num_warmup_steps = int(num_warmup_steps)
    self.steps_ahead = int(steps_ahead)

  def __call__(self, step):
    step = tf.cast(step + self.steps_ahead, tf.float32)  # exact to 16.7 million
    peak = np.float32(self.learning_rate)
    total = np.float32(self.num_train_steps)
    # As run_squad, to the last bit: TensorFlow's graph optimizer replaced the
    # divisions by constants with products of their float32 reciprocals, and
    # joined the constants of the warm-up.
    decayed = peak * (1.0 - tf.minimum(step, total) * (np.float32(1) / total))
    if not self.num_warmup_steps:
      return decayed
    warmup = np.float32(self.num_warmup_steps)
    rising = step * (peak * (np.float32(1) / warmup))
    return tf.where(step < warmup, rising, decayed)

  def get_config(self):
    return dict(vars(self))
