"""The base layer of the decoders, and the texts of spans.

tf.strings.substr would copy the context for each span and count characters from
its beginning: a book of a million characters has 100,000 candidates. So
contexts are decoded once, and the cost of a span is its length.
"""

import dataclasses

import keras
import tensorflow as tf

# The logit of a position that the encoder did not read: far below all others,
# and finite, as the decoders require.
NO_LOGIT = -1e9
_ROWS = [None, None]  # [windows, seq_length]
# The columns of windows that a decoder's `read` takes.
WINDOW_SPECS = {
  "example_index": tf.TensorSpec([None], tf.int32),
  "context_start": tf.TensorSpec([None], tf.int32),
  "first_context_position": tf.TensorSpec([None], tf.int32),
  "padding_mask": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_starts": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_ends": tf.TensorSpec(_ROWS, tf.int32),
  "is_max_context": tf.TensorSpec(_ROWS, tf.bool),
}
# null_odds of a question without any possible span, so that no threshold gives
# it an answer. It is far above any difference of logits, and finite, so that it
# sorts and fits JSON. As run_squad: score_null, "large and positive".
NO_SPAN_NULL_ODDS = 1e6


class AnswerDecoder(keras.layers.Layer):
  """Base of decoders: configured by options; `read` and then `answers`."""

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
    """Casts logits to float32; InvalidArgumentError if one is not finite."""
    message = f"{type(self).__name__}: {name} must be finite"
    return tf.debugging.check_numerics(tf.cast(logits, tf.float32), message)


def span_texts(characters, example_index, char_start, char_end):
  """Returns context[char_start:char_end] of each span: string [spans].

  `characters` are the contexts' code points, ragged int32 [examples,
  (characters)]; the columns are int32 [spans].
  """
  row = tf.gather(characters.row_starts(), example_index)  # [spans]
  starts, ends = (row + tf.cast(x, tf.int64) for x in (char_start, char_end))
  positions = tf.ragged.range(starts, ends)  # [spans, (characters)]
  points = tf.gather(characters.flat_values, positions.flat_values)
  return tf.strings.unicode_encode(positions.with_flat_values(points), "UTF-8")


def table_texts(characters, char_start, char_end):
  """Returns `span_texts` of a table of spans: string [examples, spans]."""
  shape = tf.shape(char_start)
  example_index = tf.repeat(tf.range(shape[0]), shape[1])
  starts, ends = (tf.reshape(x, [-1]) for x in (char_start, char_end))
  return tf.reshape(span_texts(characters, example_index, starts, ends), shape)


def first_of_each_text(characters, example_index, char_start, char_end):
  """Returns the first row of each text in an example, ascending: int32."""
  texts = span_texts(characters, example_index, char_start, char_end)
  # Digits and a blank before the text keep the examples apart.
  keys = tf.strings.join([tf.strings.as_string(example_index), texts], " ")
  distinct, ids = tf.unique(keys)
  rows = tf.range(tf.size(ids))
  return tf.math.unsorted_segment_min(rows, ids, tf.size(distinct))


def ranks(example_index, examples):
  """Returns the rank of each row in its example, and rows per example: int32.

  `example_index` is int32 [rows], ascending.
  """
  rows = tf.math.unsorted_segment_sum(
    tf.ones_like(example_index), example_index, examples
  )
  first = tf.cumsum(rows, exclusive=True)
  rank = tf.range(tf.size(example_index)) - tf.gather(first, example_index)
  return rank, rows
