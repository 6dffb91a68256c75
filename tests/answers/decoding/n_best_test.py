"""Candidates and n-best lists, on paper."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span import DecoderOptions
from bert_span.answers.decoding import n_best
from tests.support.squad import OUTSIDE, hand_windows

# The example of the docstring: [CLS] who? [SEP] Ada Love ##lace [SEP].
_START, _END = [1, 0, 0, 7, 3, 2, 0], [1, 0, 0, 2, 6, 5, 8]
_ADA, _LOVE, _LACE = (0, 3), (4, 8), (8, 12)


@pytest.mark.parametrize(
  ("options", "is_max_context", "spans"),
  [
    # Ada Love and Love; the end outside the passage takes one of two places.
    ({}, (True, True, True), [(0, 8, 13), (4, 8, 9)]),
    ({"max_answer_length": 1}, (True, True, True), [(4, 8, 9)]),
    # A start needs its maximal context, an end does not.
    ({}, (True, False, True), [(0, 8, 13)]),
    ({}, (False, True, False), [(4, 8, 9)]),
    # Of three starts and ends: by the rank of the start, then of the end.
    (
      {"n_best_size": 3},
      (True, True, True),
      [(0, 8, 13), (0, 12, 12), (4, 8, 9), (4, 12, 8), (8, 12, 7)],
    ),
    # More than there are positions.
    (
      {"n_best_size": 9, "max_answer_length": 1},
      (True, True, True),
      [(0, 3, 9), (4, 8, 9), (8, 12, 7)],
    ),
  ],
)
def test_candidates_of_a_window(options, is_max_context, spans):
  places = zip((_ADA, _LOVE, _LACE), is_max_context, strict=True)
  tokens = [(*place, is_best) for place, is_best in places]
  windows = hand_windows([[OUTSIDE] * 3 + tokens + [OUTSIDE]])
  logits = [tf.constant([x], tf.float32) for x in (_START, _END)]
  scores = [tf.cast(x, tf.float64) for x in logits]
  found = n_best.span_candidates(
    windows, *logits, *scores, DecoderOptions(**{"n_best_size": 2} | options)
  )
  columns = found.char_start, found.char_end, found.score
  rows = zip(*(x.numpy().tolist() for x in columns), strict=True)
  assert list(rows) == spans


def test_scores_are_logits_or_halves_of_probabilities_of_real_tokens():
  logits, mask = tf.constant([[0.1, 2.0, 9.0]]), tf.constant([[1, 1, 0]])
  scores = n_best.position_scores(logits, mask, "logit_sum")
  assert scores.dtype == tf.float64
  np.testing.assert_array_equal(scores, logits)
  halves = n_best.position_scores(logits, mask, "mean_probability")
  weights = np.exp(logits.numpy()[0, :2].astype(float))
  expected = [[*(weights / weights.sum() / 2), 0]]
  np.testing.assert_allclose(halves, expected, rtol=1e-12)


def _candidates(*rows):
  """Candidates of (example, char_start, char_end, score)."""
  examples, starts, ends, scores = map(np.array, zip(*rows, strict=True))
  logits = tf.constant(scores / 2, tf.float32)
  return n_best.Candidates(
    tf.range(len(rows)),
    *(tf.constant(x, tf.int32) for x in (examples, starts, ends)),
    *(logits, logits),
    *[tf.constant(scores / 2, tf.float64)] * 2,
  )


def _entries(candidates, *contexts, n_best_size):
  characters = tf.strings.unicode_decode(contexts, "UTF-8")
  return n_best.distinct_entries(
    candidates, characters, len(contexts), n_best_size
  )


def test_equal_texts_do_not_keep_later_texts_out_of_the_list():
  # Five a lead the ranking, but only the best four are compared at first.
  rows = [(0, 2 * i, 2 * i + 1, 9 - i) for i in range(6)]
  rows += [(2, 0, 1, 3), (2, 2, 3, 4)]
  entries = _entries(
    _candidates(*rows), "a a a a a b", "", "p q", n_best_size=2
  )
  assert entries.count.numpy().tolist() == [2, 0, 2]
  assert entries.char_start.numpy().tolist() == [[0, 10], [0, 0], [2, 0]]
  assert entries.char_end.numpy().tolist() == [[1, 11], [0, 0], [3, 1]]
  assert entries.score.numpy().tolist() == [[9, 4], [0, 0], [4, 3]]


def test_a_list_may_be_short_and_equal_scores_keep_their_order():
  # As float32, 1 and 1 + 1e-9 would be equal.
  rows = [(0, 2, 3, 5), (0, 0, 1, 5), (0, 6, 7, 1), (0, 4, 5, 1 + 1e-9)]
  rows += [(0, 4, 5, 0.5)]
  entries = _entries(_candidates(*rows), "a b c d", n_best_size=6)
  assert entries.count.numpy().tolist() == [4]
  assert entries.char_start.numpy()[0].tolist() == [2, 0, 4, 6, 0, 0]
  assert entries.is_entry.numpy()[0].tolist() == [True] * 4 + [False] * 2


def _null(start, end):
  logits = [tf.constant(x, tf.float32) for x in (start, end)]
  return n_best.NullEntry(*logits, *(tf.cast(x, tf.float64) for x in logits))


def test_the_null_entry_is_of_the_first_window_with_the_lowest_score():
  windows = _null([6, 1, 2, 5], [0, 3, 2, 1])  # scores 6, 4, 4 and 6
  null = n_best.null_entry(tf.constant([0, 0, 0, 2]), windows, 3)
  assert null.start_logit.numpy().tolist() == [1, 0, 5]
  assert null.end_logit.numpy().tolist() == [3, 0, 1]
  assert null.score.numpy().tolist() == [4, 0, 6]


@pytest.mark.parametrize(
  ("scores", "null", "expected"),
  [
    # After a span of equal score; the last span is dropped.
    ([8, 7, 6], 7, [8, 7, "null", 0]),
    ([8, 7, 6], 9, ["null", 8, 7, 0]),
    # Below all spans it is one entry more.
    ([8, 7, 6], 6, [8, 7, 6, "null"]),
    ([8, 7], 2, [8, 7, "null", 0]),
    ([], -5, ["null", 0, 0, 0]),
  ],
)
def test_the_null_entry_is_where_its_score_puts_it(scores, null, expected):
  rows = [(0, 2 * i, 2 * i + 1, score) for i, score in enumerate(scores)]
  rows += [(1, 0, 1, 1)]  # of another example
  entries = _entries(_candidates(*rows), "a b c", "d", n_best_size=3)
  entries = n_best.with_null_entry(entries, _null([null, 0], [0, 0]))
  count = int(entries.count[0])
  assert count == sum(x != 0 for x in expected)
  shown = [
    "null" if i < count and end == 0 else score
    for i, (end, score) in enumerate(
      zip(
        *(x[0].numpy() for x in (entries.char_end, entries.score)), strict=True
      )
    )
  ]
  assert shown == expected
  if "null" in expected:
    assert entries.score[0, expected.index("null")] == null
