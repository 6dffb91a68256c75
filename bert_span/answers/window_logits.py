"""Logits of all windows of some questions, and the answers they give."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.predictions import (
  PREDICTION_COLUMNS,
  predictions_of,
)
from bert_span.answers.decoding.span_decoder import SpanDecoder
from bert_span.data.window_batches import example_arrays

# The logit of a position that the encoder was not run on: far below any other
# and finite, as the decoder demands.
NO_LOGIT = -1e9
_ROWS = [None, None]  # [windows, seq_length]
# What of the windows decides the answers.
WINDOW_SPECS = {
  "example_index": tf.TensorSpec([None], tf.int32),
  "input_mask": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_starts": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_ends": tf.TensorSpec(_ROWS, tf.int32),
  "is_max_context": tf.TensorSpec(_ROWS, tf.bool),
}


class WindowLogits(NamedTuple):
  """Start and end logits of the windows of some examples.

  Attributes:
    examples: sequence of `SquadExample`.
    windows: dict of arrays, see `SlidingWindows`.
    start_logits, end_logits: float32 [windows, seq_length].
  """

  examples: list
  windows: dict
  start_logits: np.ndarray
  end_logits: np.ndarray


class WindowDecoder:
  """Turns `WindowLogits` into predictions; traced once for all batches.

  Args:
    options: `DecoderOptions`.
  """

  def __init__(self, options):
    logits = tf.TensorSpec(_ROWS, tf.float32)
    decoder = SpanDecoder(options)

    def decode(*inputs):
      outputs = decoder(*inputs)
      # The graph leaves out what is not asked for, such as n-best texts.
      return {name: outputs[name] for name in PREDICTION_COLUMNS}

    self._decode = tf.function(
      decode,
      # Tracing takes seconds: once for batches of any size.
      input_signature=(
        tf.TensorSpec([None], tf.string),
        WINDOW_SPECS,
        logits,
        logits,
      ),
    )

  def __call__(self, logits):
    """Answers the questions of a batch.

    Args:
      logits: `WindowLogits` with all windows of each of its examples.

    Returns:
      List of `Prediction`, one per example.
    """
    contexts = example_arrays(logits.examples)["context"]
    outputs = self._decode(
      tf.constant(contexts, tf.string),
      # As they are: tf.constant would copy them, twice.
      {name: logits.windows[name] for name in WINDOW_SPECS},
      logits.start_logits,
      logits.end_logits,
    )
    return predictions_of(logits.examples, outputs)
