"""Which words are masked: the lengths' distribution, starts and the budget."""

import bisect
import collections
import math

import numpy as np
import pytest

from bert_span.pretraining.masking.masked_sequence import uniform_draws
from bert_span.pretraining.masking.span_masking import (
  draw_spans,
  length_thresholds,
  span_length_probabilities,
)
from bert_span.pretraining.options import MaskingOptions

_THRESHOLDS = length_thresholds(MaskingOptions())
# chi2.ppf(1 - 1e-3, degrees of freedom): P(above) = 0.1 % if all is right.
_CHI_SQUARE_LIMIT = {9: 27.877, 11: 31.264}


def draw_of_length(num_words):
  """A number in [0, 1) that draws so many words."""
  return ([0.0, *_THRESHOLDS])[num_words - 1] + 1e-9


def chi_square(counts, probabilities):
  total = sum(counts)
  return sum(
    (count - total * p) ** 2 / (total * p)
    for count, p in zip(counts, probabilities, strict=True)
  )


def masked_words(spans):
  return [
    word
    for span in spans
    for word in range(span.first_word, span.first_word + span.num_words)
  ]


def test_the_length_distribution_is_the_published_one():
  probabilities = span_length_probabilities()
  assert [round(p, 4) for p in probabilities] == [
    *(0.2241, 0.1792, 0.1434, 0.1147, 0.0918),
    *(0.0734, 0.0587, 0.0470, 0.0376, 0.0301),
  ]
  mean = sum((i + 1) * p for i, p in enumerate(probabilities))
  assert round(mean, 2) == 3.80
  assert math.isclose(sum(probabilities), 1.0)


def test_lengths_of_100_000_drawn_spans_follow_the_formula():
  """Chi-square, 9 degrees of freedom, level 0.001, seed 8."""
  counts = collections.Counter()
  number = 0
  while sum(counts.values()) < 100_000:
    uniform = uniform_draws([8, 0, number])
    spans = draw_spans([1] * 510, 77, _THRESHOLDS, uniform)
    counts.update(span.drawn_words for span in spans)
    # Only the last span may be cut.
    *others, last = spans
    assert all(span.num_words == span.drawn_words for span in others)
    assert 1 <= last.num_words <= last.drawn_words
    number += 1
  statistic = chi_square(
    [counts[length] for length in range(1, 11)], span_length_probabilities()
  )
  assert statistic < _CHI_SQUARE_LIMIT[9]


def test_the_first_start_is_uniform_over_the_starts_where_the_span_fits():
  """Chi-square, 11 degrees of freedom, level 0.001, seed 9."""
  counts = collections.Counter()
  for number in range(24_000):
    uniform = uniform_draws([9, number])
    (span,) = draw_spans([1] * 12, 1, [], uniform)
    counts[span.first_word] += 1
  statistic = chi_square([counts[i] for i in range(12)], [1 / 12] * 12)
  assert statistic < _CHI_SQUARE_LIMIT[11]


@pytest.mark.parametrize(
  ("sizes", "budget", "draws", "spans"),
  [
    # The module's example.
    (
      [1] * 9 + [2, 1, 1],
      2,
      [draw_of_length(4), 4.5 / 9],
      [(4, 2, 4)],
    ),
    # A start that touches a masked word is drawn again: words 2 and 3 are
    # masked, and three words from 1 or 3 would touch them.
    (
      [1] * 10,
      5,
      [
        draw_of_length(2),
        2.5 / 9,
        draw_of_length(3),
        1.5 / 8,
        3.5 / 8,
        4.5 / 8,
      ],
      [(2, 2, 2), (4, 3, 3)],
    ),
    # A span longer than every free place is shortened: four words do not fit
    # on either side of word 2, so after 8 blind tries two are taken.
    (
      [1] * 5,
      3,
      [draw_of_length(1), 0.5, draw_of_length(4), *[0.1] * 8, 0.9],
      [(2, 1, 1), (3, 2, 4)],
    ),
    # A text shorter than the drawn span is masked up to the budget.
    ([1, 1, 1], 1, [draw_of_length(10), 0.0], [(0, 1, 10)]),
  ],
)
def test_spans_follow_the_draws(sizes, budget, draws, spans):
  assert draw_spans(sizes, budget, _THRESHOLDS, iter(draws).__next__) == spans


@pytest.mark.parametrize("masking", ["span", "word"])
@pytest.mark.parametrize("seed", range(5))
def test_the_budget_is_met_in_every_sequence(masking, seed):
  """Never above it; below it only where no free word fits what is left."""
  rng = np.random.default_rng(seed)
  options = MaskingOptions(masking=masking)
  thresholds = length_thresholds(options)
  exact = 0
  for number in range(300):
    sizes = rng.integers(1, 5, rng.integers(1, 120)).tolist()
    budget = options.budget(sum(sizes))
    spans = draw_spans(sizes, budget, thresholds, uniform_draws([seed, number]))
    words = masked_words(spans)
    assert len(words) == len(set(words))
    left = budget - sum(sizes[word] for word in words)
    assert left >= 0
    free = [size for i, size in enumerate(sizes) if i not in set(words)]
    assert left == 0 or not [size for size in free if size <= left]
    exact += left == 0
  assert exact > 250


def test_single_tokens_use_the_budget_exactly():
  for number in range(1, 100):
    options = MaskingOptions(masking="subword")
    budget = options.budget(number)
    spans = draw_spans([1] * number, budget, [], uniform_draws([number]))
    assert len(spans) == budget
    assert {span.num_words for span in spans} == {1}


def test_the_budget_is_rounded_up_without_an_error_of_floats():
  options = MaskingOptions()
  assert [options.budget(n) for n in (1, 6, 7, 13, 20, 40, 126, 510)] == [
    *(1, 1, 2, 2, 3, 6, 19, 77)
  ]
  assert MaskingOptions(max_predictions=5).budget(510) == 5


def test_only_spans_have_lengths_above_one():
  assert length_thresholds(MaskingOptions(masking="word")) == []
  assert length_thresholds(MaskingOptions(masking="subword")) == []
  thresholds = length_thresholds(MaskingOptions())
  assert 1 + bisect.bisect_right(thresholds, 0.0) == 1
  assert 1 + bisect.bisect_right(thresholds, 1 - 1e-12) == 10


@pytest.mark.parametrize(
  ("name", "value"),
  [
    ("masking", "phrase"),
    ("masked_percent", 0),
    ("max_predictions", 0),
    ("geometric_p", 1.0),
    ("max_span_words", 0),
    ("seed", -1),
  ],
)
def test_options_that_mask_nothing_are_refused(name, value):
  with pytest.raises(ValueError, match=rf"{name}.*{value}"):
    MaskingOptions(**{name: value})
