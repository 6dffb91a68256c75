"""B/I/O logits of all windows of some questions, and the answers they give."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.bio_decoder import BioDecoder
from bert_span.answers.decoding.bio_predictions import bio_predictions_of
from bert_span.data.bio_labels import NUM_TAGS
from bert_span.data.window_batches import example_arrays

_ROWS = [None, None]  # [windows, seq_length]
_WINDOW_SPECS = {
  "example_index": tf.TensorSpec([None], tf.int32),
  "context_start": tf.TensorSpec([None], tf.int32),
  "context_length": tf.TensorSpec([None], tf.int32),
  "first_context_position": tf.TensorSpec([None], tf.int32),
  "token_char_starts": tf.TensorSpec(_ROWS, tf.int32),
  "token_char_ends": tf.TensorSpec(_ROWS, tf.int32),
  "is_max_context": tf.TensorSpec(_ROWS, tf.bool),
}


class WindowBioLogits(NamedTuple):
  """B/I/O logits of the windows of some examples.

  Attributes:
    examples: sequence of `SquadExample`.
    windows: dict of arrays, see `SlidingWindows`.
    tag_logits: float32 [windows, seq_length, 3].
  """

  examples: list
  windows: dict
  tag_logits: np.ndarray


class WindowBioDecoder:
  """Turns `WindowBioLogits` into predictions; traced once for all batches.

  Args:
    options: `BioDecoderOptions`.
  """

  def __init__(self, options):
    self._decode = tf.function(
      BioDecoder(options).__call__,
      # Tracing takes seconds: once for batches of any size.
      input_signature=(
        tf.TensorSpec([None], tf.string),
        _WINDOW_SPECS,
        tf.TensorSpec([*_ROWS, NUM_TAGS], tf.float32),
      ),
    )

  def __call__(self, logits):
    """Answers the questions of a batch.

    Args:
      logits: `WindowBioLogits` with all windows of each of its examples.

    Returns:
      List of `BioPrediction`, one per example.
    """
    contexts = example_arrays(logits.examples)["context"]
    outputs = self._decode(
      tf.constant(contexts, tf.string),
      # As they are: tf.constant would copy them, twice.
      {name: logits.windows[name] for name in _WINDOW_SPECS},
      logits.tag_logits,
    )
    return bio_predictions_of(logits.examples, outputs)
