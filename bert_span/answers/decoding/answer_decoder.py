"""What the decoders of all heads share: the layer, and the texts of spans.

tf.strings.substr would copy the context for each span and count characters from
its beginning: a book of a million characters has 100,000 candidates. So
contexts are decoded once, and a span costs only its own length.
"""

import dataclasses

import keras
import tensorflow as tf

# The logit of a position that the encoder was not run on: far below any other
# and finite, as the decoders demand.
NO_LOGIT = -1e9
_ROWS = [None, None]  # [windows, seq_length]
# The columns of windows that `AnswerDecoder.read` takes.
WINDOW_SPECS = {
  "example_index": tf.TensorSpec([None], tf.int32),
  "context_start": tf.TensorSpec([None], tf.int32),
  "first_context_position": tf.TensorSpec([None], tf.int32),
  "input_mask": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_starts": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_ends": tf.TensorSpec(_ROWS, tf.int32),
  "is_max_context": tf.TensorSpec(_ROWS, tf.bool),
}
# null_odds of a question without any possible span: no threshold gives it an
# answer. Finite, so that it sorts and fits JSON, and far above any difference
# of logits. As run_squad's "large and positive" score_null.
NO_SPAN_NULL_ODDS = 1e6


class AnswerDecoder(keras.layers.Layer):
  """A layer that is made of options alone, with methods `read`, `answers`."""

  options_type: type  # dataclass

  def __init__(self, options=None, **kwargs):
    # Scores are float64 whatever Keras' dtype policy says.
    super().__init__(autocast=False, **kwargs)
    self.options = options or self.options_type()

  def get_config(self):
    return {**super().get_config(), "options": dataclasses.asdict(self.options)}

  @classmethod
  def from_config(cls, config):
    return cls(**{**config, "options": cls.options_type(**config["options"])})

  def finite(self, logits, name):
    """The logits as float32; an InvalidArgumentError if one is not finite."""
    message = f"{type(self).__name__}: {name} must be finite"
    return tf.debugging.check_numerics(tf.cast(logits, tf.float32), message)


def span_texts(characters, example_index, char_start, char_end):
  """The text context[char_start:char_end] of each span: string [spans].

  `characters` are the contexts' code points, ragged int32 [examples,
  (characters)]; the columns are int32 [spans].
  """
  row = tf.gather(characters.row_starts(), example_index)  # [spans]
  starts, ends = (row + tf.cast(x, tf.int64) for x in (char_start, char_end))
  positions = tf.ragged.range(starts, ends)  # [spans, (characters)]
  points = tf.gather(characters.flat_values, positions.flat_values)
  return tf.strings.unicode_encode(positions.with_flat_values(points), "UTF-8")


def table_texts(characters, char_start, char_end):
  """`span_texts` of a table of spans: string [examples, spans]."""
  shape = tf.shape(char_start)
  example_index = tf.repeat(tf.range(shape[0]), shape[1])
  starts, ends = (tf.reshape(x, [-1]) for x in (char_start, char_end))
  return tf.reshape(span_texts(characters, example_index, starts, ends), shape)


def first_of_each_text(characters, example_index, char_start, char_end):
  """Rows of the `span_texts` that are new in their example, in order: int32."""
  texts = span_texts(characters, example_index, char_start, char_end)
  # Digits and a blank before the text keep the examples apart.
  keys = tf.strings.join([tf.strings.as_string(example_index), texts], " ")
  distinct, ids = tf.unique(keys)
  rows = tf.range(tf.size(ids))
  return tf.math.unsorted_segment_min(rows, ids, tf.size(distinct))


def ranks(example_index, examples):
  """Ranks of rows within their example, and rows of each example: int32.

  `example_index` is int32 [rows], ascending.
  """
  rows = tf.math.unsorted_segment_sum(
    tf.ones_like(example_index), example_index, examples
  )
  first = tf.cumsum(rows, exclusive=True)
  rank = tf.range(tf.size(example_index)) - tf.gather(first, example_index)
  return rank, rows
