"""Batches of windows of similar length."""

import numpy as np

from bert_span.data.labelled_windows import PackedWindows
from bert_span.data.length_buckets import BucketedBatches

_MAX = 40
_WIDTH = 16


def _windows(lengths):
  """Windows of nothing but their own number, as start position too."""
  numbers = np.arange(len(lengths), dtype=np.int32)
  return PackedWindows(
    token_ids=np.repeat(numbers, lengths) + 1,
    row_splits=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
    first_context_positions=np.full(len(lengths), 3, np.int32),
    labels={"start_positions": numbers, "end_positions": numbers},
    has_answer=numbers > 0,
  )


def _random_lengths(count):
  return np.random.default_rng(3).integers(5, _MAX + 1, count)


def _batches(lengths, seed=0, first_step=0, count=1):
  """The first batches of eight windows."""
  batches = BucketedBatches(_windows(lengths), 8, _MAX, _WIDTH, seed)
  dataset = batches.dataset(first_step).take(count)
  return list(dataset.as_numpy_iterator())


def _numbers(batches):
  return np.concatenate([batch["start_positions"] for batch in batches])


def test_every_batch_is_full_and_padded_to_its_bucket():
  lengths = _random_lengths(103)
  for batch in _batches(lengths, count=40):
    rows, seq_length = batch["token_ids"].shape
    longest = lengths[batch["start_positions"]].max()
    assert rows == 8
    assert seq_length == min(-(-longest // _WIDTH) * _WIDTH, _MAX)
    np.testing.assert_array_equal(
      batch["padding_mask"].sum(axis=1), lengths[batch["start_positions"]]
    )


def test_every_window_comes_once_an_epoch_but_for_what_is_left_over():
  batches = _batches(_random_lengths(103), count=12 + 13)
  first = _numbers(batches[:12])  # 96 of 103; 7 wait
  assert len(set(first)) == 96
  # 110 with those that waited, of which 104 fit; 6 wait.
  counts = np.bincount(_numbers(batches), minlength=103)
  assert counts.max() == 2
  assert np.sum(2 - counts) == 6


def test_chance_decides_which_window_waits_and_not_its_length():
  # Of two short and seven long ones that fill no batch alone, one waits.
  lengths = np.array([8] * 50 + [40] * 7)
  waiting = set()
  for seed in range(20):
    dealt = _numbers(_batches(lengths, seed=seed, count=7))
    (number,) = set(range(57)) - set(dealt)
    waiting.add(int(lengths[number]))
  assert waiting == {8, 40}


def test_starting_at_a_step_equals_skipping_to_it():
  lengths = _random_lengths(103)
  whole = _batches(lengths, count=35)
  for first_step in (1, 13, 30):
    found = _batches(lengths, first_step=first_step, count=5)
    for one, other in zip(found, whole[first_step:], strict=False):
      for name, values in other.items():
        np.testing.assert_array_equal(one[name], values)
  other_seed = _batches(lengths, seed=8, count=35)
  assert (_numbers(other_seed) != _numbers(whole)).any()


def test_buckets_do_not_order_the_training():
  """Short and long batches come early and late alike."""
  lengths = np.repeat([10, 30, 40], 400)
  batches = _batches(lengths, count=150)
  padded = np.array([batch["token_ids"].shape[1] for batch in batches])
  for length in (16, 32, 40):
    (steps,) = np.nonzero(padded == length)
    assert len(steps) == 50
    # The mean of 50 of 150 steps strays by 5 from 74.5; allow four times that.
    assert 54 < steps.mean() < 95


def test_windows_share_batches_with_others_in_every_epoch():
  numbers = _numbers(_batches(np.full(64, 10), count=16))
  assert set(numbers[:64]) == set(numbers[64:]) == set(range(64))
  groups = [frozenset(group) for group in numbers.reshape(16, 8).tolist()]
  assert len(set(groups)) == 16


def test_fewer_windows_than_a_batch_fill_it_over_several_epochs():
  numbers = _numbers(_batches(np.array([5, 20, 33]), count=3))
  assert len(numbers) == 24
  assert np.bincount(numbers, minlength=3).min() >= 7


def test_mean_padded_length_is_that_of_an_epoch():
  two_lengths = [10] * 8 + [40] * 8
  for lengths, width, mean in (
    (two_lengths, _WIDTH, (16 + 40) / 2),
    ([10, 20], _WIDTH, 32),
    (two_lengths, None, _MAX),  # without buckets
  ):
    batches = BucketedBatches(_windows(lengths), 8, _MAX, width, seed=0)
    assert batches.mean_padded_length() == mean
  assert batches.dataset(0).element_spec["token_ids"].shape == [8, _MAX]
