"""Probabilities among all spans, against sums that list every span."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_span import DecoderOptions, SpanDecoder
from bert_span.answers.decoding import joint_probability
from tests.support.squad import hand_windows


def _windows(example_index, may_start, may_end):
  """Windows whose tokens of the passage are one character each."""
  place = np.arange(np.shape(may_end)[1])
  starts, ends = (np.where(may_end, x, -1) for x in (place, place + 1))
  return hand_windows(np.stack([starts, ends, may_start], 2), example_index)


def _log_z(windows, start, end, null, temperature, max_answer_length):
  """Log Z of each example by the package."""
  case = windows, start, end, temperature, max_answer_length
  log_sums = joint_probability.span_log_sums(*case)
  null = tf.constant(null / temperature)
  example_index = windows["example_index"]
  return joint_probability.log_partition(log_sums, example_index, null).numpy()


def _listed(windows, start, end, null, temperature, max_answer_length):
  """Log Z of each example by going through all pairs, in plain Python."""
  weights = [[logit / temperature] for logit in null]
  starts = windows["token_char_starts"].numpy()
  is_max_context = windows["is_max_context"].numpy()
  for row, example in enumerate(windows["example_index"].numpy()):
    for i in range(starts.shape[1]):
      for j in range(i, min(i + max_answer_length, starts.shape[1])):
        if is_max_context[row, i] and starts[row, i] >= 0 <= starts[row, j]:
          logit = float(start[row, i]) + float(end[row, j])
          weights[example].append(logit / temperature)
  highest = [max(logits) for logits in weights]
  return [
    top + math.log(math.fsum(math.exp(logit - top) for logit in logits))
    for top, logits in zip(highest, weights, strict=True)
  ]


def _random_case(seed, spread=3.0):
  """Four windows of three examples; the second example has none."""
  rng = np.random.default_rng(seed)
  inside = rng.random([4, 9]) < 0.8
  windows = _windows([0, 0, 2, 2], inside & (rng.random([4, 9]) < 0.6), inside)
  start, end = spread * rng.normal(size=[2, 4, 9]).astype(np.float32)
  return windows, start, end, np.array([1.5, 0.0, -2.0])


@pytest.mark.parametrize("max_answer_length", [1, 2, 5, 9, 10**9])
def test_log_partition_is_that_of_all_spans_listed(max_answer_length):
  for temperature in (0.05, 1.0, 1.7, 20.0):
    case = *_random_case(max_answer_length), temperature, max_answer_length
    np.testing.assert_allclose(_log_z(*case), _listed(*case), rtol=1e-12)


def test_far_logits_neither_cancel_nor_overflow_and_no_window_is_fine():
  windows = _windows([], np.zeros([0, 0]), np.zeros([0, 0]))
  nothing = np.zeros([0, 0], np.float32)
  value = _log_z(windows, nothing, nothing, np.array([3.0]), 2.0, 30)
  assert value.tolist() == [1.5]  # the null logit over the temperature
  windows, start, end, null = _random_case(3, spread=200.0)
  case = windows, start, end, null, 0.1, 4
  np.testing.assert_allclose(_log_z(*case), _listed(*case), rtol=1e-12)


def _decode(contexts, windows, start, end, **options):
  decoder = SpanDecoder(DecoderOptions(**options))
  outputs = decoder(tf.constant(contexts), windows, start, end)
  return {name: value.numpy() for name, value in outputs.items()}


@pytest.mark.parametrize("version_2", [False, True])
@pytest.mark.parametrize("span_score", ["logit_sum", "mean_probability"])
def test_decoded_probabilities_are_among_all_spans(version_2, span_score):
  windows, start, end, _ = _random_case(11)
  case = ["abcdefghi"] * 3, windows, start, end
  options = {"version_2_with_negative": version_2, "span_score": span_score}
  options |= {"n_best_size": 6, "max_answer_length": 3}
  outputs = _decode(*case, temperature=1.3, **options)
  plain = _decode(*case, **options)
  for name in outputs.keys() - {"probability", "n_best_probability"}:
    np.testing.assert_array_equal(outputs[name], plain[name])
  # By the brute-force sum.
  cls = start[:, 0].astype(np.float64) + end[:, 0]
  null = [min(cls[:2]), 0.0, min(cls[2:])]
  log_z = np.array(_listed(windows, start, end, null, 1.3, 3))
  logits = outputs["n_best_start_logit"].astype(np.float64)
  logits = logits + outputs["n_best_end_logit"]
  expected = np.exp(logits / 1.3 - log_z[:, np.newaxis])
  count = outputs["n_best_count"]
  for row in (0, 2):
    found = outputs["n_best_probability"][row, : count[row]]
    np.testing.assert_allclose(found, expected[row, : count[row]], atol=1e-9)
    assert found.sum() < 1  # The spans that are not listed have the rest.
    assert outputs["probability"][row] in found
  assert outputs["probability"][1] == 1  # Without a window: no answer.
  shifted = _decode(*case, temperature=1.3, log_odds_shift=-2.0, **options)
  p, q = (each["probability"][[0, 2]] for each in (outputs, shifted))
  np.testing.assert_allclose(q / (1 - q), p / (1 - p) * np.exp(-2))


def test_a_shift_multiplies_the_odds():
  # Odds of 1, 1 to 3 and certain, times 3.
  found = joint_probability.shift_log_odds(
    np.array([0.5, 0.25, 1]), math.log(3)
  )
  np.testing.assert_allclose(found, [0.75, 0.5, 1])


@pytest.mark.parametrize("version_2", [False, True])
def test_the_entries_beside_a_shifted_answer_share_what_it_leaves(version_2):
  inside = np.array([[False, *[True] * 4, False]])
  windows = _windows([0], inside, inside)
  start, end = np.random.default_rng(2).normal(size=[2, 1, 6])
  case = [" abcd"], windows, *np.float32([start, end])
  options = {"version_2_with_negative": version_2, "temperature": 0.7}
  plain = _decode(*case, **options)
  shifted = _decode(*case, log_odds_shift=2.5, **options)
  np.testing.assert_array_equal(shifted["answer"], plain["answer"])
  p, q = plain["probability"][0], shifted["probability"][0]
  assert q / (1 - q) == pytest.approx(p / (1 - p) * math.exp(2.5))
  before, after = (x["n_best_probability"][0] for x in (plain, shifted))
  chosen = before == p
  assert chosen.sum() == 1
  np.testing.assert_allclose(after[chosen], q)
  np.testing.assert_allclose(
    after[~chosen], before[~chosen] * (1 - q) / (1 - p)
  )
  assert after.sum() <= 1 + 1e-12


@pytest.mark.parametrize("threshold", [-6.0, -0.5, 0.5, 6.0])
def test_the_answer_is_the_most_probable_one_at_any_null_threshold(threshold):
  inside = np.array([[False, *[True] * 4, False]])
  windows = _windows([0], inside, inside)
  start, end = np.random.default_rng(2).normal(size=[2, 1, 6])
  options = {"version_2_with_negative": True, "temperature": 0.7}
  options["null_score_diff_threshold"] = threshold
  # Characters as the windows have them.
  outputs = _decode([" abcd"], windows, *np.float32([start, end]), **options)
  assert outputs["n_best_count"] == 11  # 10 spans and no answer.
  probabilities = outputs["n_best_probability"]
  assert probabilities.sum() == pytest.approx(1, abs=1e-12)
  assert outputs["probability"][0] == probabilities.max()


@pytest.mark.parametrize("version_2", [False, True])
def test_without_a_listed_span_the_probability_is_that_of_no_answer(version_2):
  # The one best start is [CLS], so that the list has no span.
  inside = [[False, True, True]]
  windows = _windows([0], inside, inside)
  logits = np.array([[3, 1, 0]], np.float32)
  options = {"n_best_size": 1, "version_2_with_negative": version_2}
  outputs = _decode([" ab"], windows, logits, logits, temperature=2, **options)
  spans = math.exp(1) + math.exp(1 / 2) + math.exp(0)
  expected = math.exp(3) / (math.exp(3) + spans)
  assert outputs["answer"].tolist() == [b""]
  assert outputs["probability"] == pytest.approx([expected])
  assert outputs["n_best_probability"][0, 0] == pytest.approx(expected)
