"""Steps, order and padding of the loop over windows, with a known encoder."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.answers.window_logits import NO_LOGIT
from bert_span.serving.window_loop import WindowLoop

_TWO = [(), ()]  # start and end logits


class _Encoder:
  """Logits are the ids (starts) and their negatives (ends)."""

  def __init__(self):
    self.shapes = []

  def __call__(self, input_ids, input_mask, segment_ids):
    self.shapes.append(tuple(input_ids.shape))
    assert input_mask.shape == segment_ids.shape == input_ids.shape
    logits = tf.cast(input_ids, tf.float32)
    return logits, -logits


def _windows(lengths, seq_length):
  """Windows whose ids are 1000 * row + position, also in the padding."""
  positions = np.arange(seq_length, dtype=np.int32)
  rows = np.arange(len(lengths), dtype=np.int32)
  ids = 1000 * rows[:, np.newaxis] + positions
  mask = (positions < np.array(lengths, np.int32)[:, np.newaxis]).astype(
    "int32"
  )
  return {
    "input_ids": tf.constant(ids),
    "input_mask": tf.constant(mask),
    "segment_ids": tf.zeros_like(ids),
  }


def test_similar_lengths_share_a_step_padded_to_a_multiple_of_32():
  encoder = _Encoder()
  windows = _windows([9, 40, 12, 70], 75)
  starts, ends = WindowLoop(encoder, _TWO, max_windows_per_step=2)(windows)
  assert encoder.shapes == [(2, 32), (2, 75)]  # 96 is more than there is
  ids = windows["input_ids"].numpy()
  is_real = windows["input_mask"].numpy() == 1
  np.testing.assert_array_equal(starts, np.where(is_real, ids, NO_LOGIT))
  np.testing.assert_array_equal(ends, np.where(is_real, -ids, NO_LOGIT))


@pytest.mark.parametrize("fixed_length", [False, True])
def test_logits_may_be_several_a_position(fixed_length):
  def encode(input_ids, input_mask, segment_ids):
    ids = tf.cast(input_ids, tf.float32)
    return (tf.stack([ids, -ids, 2 * ids], axis=2),)

  windows = _windows([9, 40, 12], 64)
  loop = WindowLoop(encode, [(3,)], 2, fixed_length=fixed_length)
  (logits,) = loop(windows)
  ids = windows["input_ids"].numpy()
  is_real = (windows["input_mask"].numpy() == 1) | fixed_length
  for i, factor in enumerate((1, -1, 2)):
    expected = np.where(is_real, factor * ids, NO_LOGIT)
    np.testing.assert_array_equal(logits[:, :, i], expected)


def test_fixed_length_keeps_the_logits_of_the_padding():
  encoder = _Encoder()
  windows = _windows([9, 40, 12], 64)
  loop = WindowLoop(encoder, _TWO, max_windows_per_step=2, fixed_length=True)
  starts, _ = loop(windows)
  assert encoder.shapes == [(2, 64), (1, 64)]
  np.testing.assert_array_equal(starts, windows["input_ids"].numpy())


def test_rows_of_a_step_are_rounded_up_for_compiled_encoders():
  encoder = _Encoder()
  windows = _windows([5] * 9, 5)
  loop = WindowLoop(encoder, _TWO, max_windows_per_step=6, round_rows=True)
  starts, _ = loop(windows)
  assert encoder.shapes == [(6, 5), (4, 5)]  # 9 = 6 + 3
  np.testing.assert_array_equal(starts, windows["input_ids"].numpy())


@pytest.mark.parametrize("seq_length", [0, 7])
def test_no_window_gives_no_logits(seq_length):
  windows = _windows([], seq_length)
  windows = {
    name: tf.reshape(values, [0, seq_length])
    for name, values in windows.items()
  }
  encoder = _Encoder()
  starts, ends = WindowLoop(encoder, _TWO, 4)(windows)
  assert starts.shape == ends.shape == (0, seq_length)
  assert not encoder.shapes


def test_one_graph_takes_any_number_of_windows():
  rows = tf.TensorSpec([None, None], tf.int32)
  loop = tf.function(
    WindowLoop(_Encoder(), _TWO, 4),
    input_signature=[
      dict.fromkeys(("input_ids", "input_mask", "segment_ids"), rows)
    ],
  )
  for count in (1, 4, 11):
    windows = _windows([3 + i for i in range(count)], 20)
    starts, _ = loop(windows)
    assert starts.shape == (count, 20)
    assert starts[count - 1, 2] == 1000 * (count - 1) + 2
    assert starts[0, 3] == NO_LOGIT
