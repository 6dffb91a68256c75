"""Windows made by hand, for tests of decoders."""

import numpy as np
import tensorflow as tf

# A token that is not of the passage: [CLS], the question, [SEP], [PAD].
OUTSIDE = (-1, -1, False)


def hand_windows(rows, example_index=None, context_start=(), prefix=3, pads=0):
  """The tensors that text/windows.py gives, padded to the longest row.

  `rows` are lists of tokens (char_start, char_end, is_max_context), a window
  each, the last `pads` of them [PAD]. The passage begins after `prefix` tokens.
  """
  length = max(map(len, rows), default=0)
  tokens = [[*row, *[OUTSIDE] * (length - len(row))] for row in rows]
  tokens = np.array(tokens, np.int32).reshape([len(rows), length, 3])
  real = np.array([len(row) - pads for row in rows], np.int32)
  columns = {
    "example_index": example_index or range(len(rows)),
    "context_start": context_start or [0] * len(rows),
    "first_context_position": [prefix] * len(rows),
    "padding_mask": np.arange(length) < real[:, np.newaxis],
    "token_char_starts": tokens[..., 0],
    "token_char_ends": tokens[..., 1],
  }
  windows = {
    name: tf.constant(np.array(values, np.int32))
    for name, values in columns.items()
  }
  return {**windows, "is_max_context": tf.constant(tokens[..., 2] == 1)}
