"""Logits of all windows of some questions, and the answers they give."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.data.window_batches import example_arrays

# The logit of a position that the encoder was not run on: far below any other
# and finite, as the decoders demand.
NO_LOGIT = -1e9
_ROWS = [None, None]  # [windows, seq_length]
# The columns of the windows that decide the answers.
WINDOW_SPECS = {
  "example_index": tf.TensorSpec([None], tf.int32),
  "context_start": tf.TensorSpec([None], tf.int32),
  "first_context_position": tf.TensorSpec([None], tf.int32),
  "input_mask": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_starts": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_ends": tf.TensorSpec(_ROWS, tf.int32),
  "is_max_context": tf.TensorSpec(_ROWS, tf.bool),
}


class WindowLogits(NamedTuple):
  """Logits of the windows of some examples."""

  examples: list  # `SquadExample`
  windows: dict  # of arrays, see `SlidingWindows`
  logits: dict[str, np.ndarray]  # the head's, [windows, seq_length, ..]


class WindowDecoder:
  """Turns `WindowLogits` into predictions; traced once for all batches.

  They must hold all windows of each of their examples.
  """

  def __init__(self, head, options):
    self._head = head
    decoder = head.decoder_of(options)

    def decode(contexts, windows, *logits):
      outputs = decoder.answers(contexts, decoder.read(windows, *logits))
      # The graph drops what is not asked for, such as n-best texts.
      return {name: outputs[name] for name in head.prediction_columns}

    self._decode = tf.function(
      decode,
      # Tracing takes seconds: once for batches of any size.
      input_signature=(
        tf.TensorSpec([None], tf.string),
        WINDOW_SPECS,
        *(
          tf.TensorSpec([*_ROWS, *shape], tf.float32)
          for shape in head.logits.values()
        ),
      ),
    )

  def __call__(self, logits):
    contexts = example_arrays(logits.examples)["context"]
    outputs = self._decode(
      tf.constant(contexts, tf.string),
      # As they are: tf.constant would copy them, twice.
      {name: logits.windows[name] for name in WINDOW_SPECS},
      *(logits.logits[name] for name in self._head.logits),
    )
    return self._head.predictions_of(logits.examples, outputs)
