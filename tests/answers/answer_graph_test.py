"""Steps, order and padding of windows read in steps, with a known encoder."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span import SlidingWindows, WindowOptions
from bert_span.answers.answer_graph import WindowSteps, device_steps
from bert_span.answers.decoding.answer_decoder import NO_LOGIT
from bert_span.answers.decoding.options import StepOptions
from bert_span.text.tokenizer import Tokens

_SHAPES = {"single": (), "pair": (2,)}  # one logit a position, and two
_MAX_LENGTH = 75


class _Encoder:
  """Logits are the ids, and a pair of their negatives and their doubles."""

  def __init__(self):
    self.shapes = []

  def __call__(self, token_ids, padding_mask, segment_ids):
    self.shapes.append(tuple(token_ids.shape))
    assert padding_mask.shape == segment_ids.shape == token_ids.shape
    logits = tf.cast(token_ids, tf.float32)
    return logits, tf.stack([-logits, 2 * logits], axis=2)


def _sliding_windows(fixed_length=False):
  options = WindowOptions(_MAX_LENGTH, 8, 2)
  return SlidingWindows(options, 101, 102, pad_to_max=fixed_length)


def _placed(lengths):
  """Windows of these lengths, [CLS] q [SEP] .. [SEP], one an example."""
  starts = 1000 * tf.range(1, len(lengths) + 1)
  ids = tf.ragged.range(starts, starts + lengths - 4)
  questions = tf.ragged.range(7 * tf.ones_like(starts), 8)
  return _sliding_windows().place(questions, Tokens(ids, ids, ids + 1))


@pytest.mark.parametrize(
  ("lengths", "options", "fixed_length", "shapes"),
  [
    # Similar lengths share a step; 96 is more than there may be.
    ([9, 40, 12, 70], {"max_windows_per_step": 2}, False, [(2, 75), (2, 32)]),
    # 75 alone are more than 70 WordPieces, and a step all the same; 64; 2 x 32.
    (
      [9, 40, 12, 70, 10, 11],
      {"max_wordpieces_per_step": 70},
      False,
      [(1, 75), (1, 64), (2, 32), (2, 32)],
    ),
    # The logits of padding are kept.
    ([9, 40, 12], {"max_windows_per_step": 2}, True, [(2, 75), (1, 75)]),
    # 9 = 6 + 3, rounded up for a compiled encoder.
    (
      [5] * 9,
      {"max_windows_per_step": 6, "jit_compile": True},
      False,
      [(8, 32), (4, 32)],
    ),
    ([], {}, False, []),
  ],
)
def test_steps_and_their_logits(lengths, options, fixed_length, shapes):
  encoder, placed = _Encoder(), _placed(lengths)
  options = device_steps(StepOptions(**options))
  steps = WindowSteps(encoder, _SHAPES, _sliding_windows(fixed_length), options)
  rows = tf.range(tf.size(placed.lengths))
  most = options.max_windows_per_step
  single, pairs = steps.logits(placed, rows, most, _MAX_LENGTH).values()
  assert encoder.shapes == shapes
  windows = _sliding_windows(fixed_length=True).all_tables(placed)
  ids, is_real = windows["token_ids"].numpy(), windows["padding_mask"] == 1
  is_kept = is_real.numpy() | fixed_length
  for found, factor in ((single, 1), (pairs[..., 0], -1), (pairs[..., 1], 2)):
    expected = np.where(is_kept, factor * ids, NO_LOGIT)
    np.testing.assert_array_equal(found, expected)
