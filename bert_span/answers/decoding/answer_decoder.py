"""What the decoders of all heads share."""

import dataclasses

import keras
import tensorflow as tf

# null_odds of a question without any possible span: no threshold gives it an
# answer. Finite, so that it sorts and fits JSON, and far above any difference
# of logits. As run_squad's "large and positive" score_null.
NO_SPAN_NULL_ODDS = 1e6


class AnswerDecoder(keras.layers.Layer):
  """A layer without weights that is made of options alone.

  A subclass has `options_type`, the dataclass of its options, and the methods
  `read` and `answers`.
  """

  options_type: type

  def __init__(self, options=None, **kwargs):
    # Scores are float64 whatever Keras' dtype policy says.
    super().__init__(autocast=False, **kwargs)
    self.options = options or self.options_type()

  def get_config(self):
    """The options as a plain dict, for Keras' serialization."""
    return {
      **super().get_config(),
      "options": dataclasses.asdict(self.options),
    }

  @classmethod
  def from_config(cls, config):
    """The layer of a get_config()."""
    return cls(**{**config, "options": cls.options_type(**config["options"])})

  def finite(self, logits, name):
    """The logits as float32; an InvalidArgumentError if one is not finite."""
    return tf.debugging.check_numerics(
      tf.cast(logits, tf.float32),
      f"{type(self).__name__}: {name} must be finite",
    )
