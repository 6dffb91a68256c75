"""Checks 5 and 7: answers, n-best order, null odds."""

import pytest

from bert_span.certificate.decoding_checks import (
  compare_decoding,
  compare_null_odds,
)

pytestmark = pytest.mark.large

_NUM_QUESTIONS = {"a": 4961, "c": 4961, "f": 3308}


@pytest.mark.parametrize("name", _NUM_QUESTIONS)
def test_spans_order_texts_and_null_odds_are_the_originals(original, name):
  configurations = [original.configurations[name]]
  comparisons = list(compare_decoding(original, configurations))
  odds = list(compare_null_odds(original, configurations))
  assert len(odds) == (3 if name == "f" else 0)
  assert all(comparison.cases > 3000 for comparison in odds)
  for comparison in (*comparisons, *odds):
    assert comparison.passes, (comparison.name, comparison.failures)
  by_name = {comparison.name: comparison for comparison in comparisons}
  answers = by_name[f"Answers {name}, peaky"]
  assert answers.cases == _NUM_QUESTIONS[name]
  assert answers.cases - answers.equal <= 0.005 * answers.cases
  n_best = by_name[f"Best span and n-best order {name}, peaky"]
  assert n_best.cases == n_best.equal >= 792


def test_one_difference_fails(sample, alter):
  def exchanged(lists):
    first, second, *others = lists["edge001"]
    return {**lists, "edge001": [second, first, *others]}

  alter("pred_j_ties_predictions.json.gz", lambda p: {**p, "edge001": "else"})
  alter("pred_j_peaky_nbest_first84.json.gz", exchanged)
  alter("pred_j_ties_crashed.json", lambda c: {**c, "edge002": "IndexError"})
  comparisons = compare_decoding(sample, [sample.configurations["j"]])
  assert {c.name for c in comparisons if not c.passes} == {
    "Answers j, ties",
    "Best span and n-best order j, peaky",
    "Questions that crash the original j, ties",
  }


def test_odds_that_differ_a_little_fail(sample, alter):
  alter(
    "pred_j_peaky_null_odds.json.gz",
    lambda odds: {qas_id: value + 2e-4 for qas_id, value in odds.items()},
  )
  random, ties, peaky = compare_null_odds(sample, [sample.configurations["j"]])
  assert random.passes
  assert ties.passes
  assert peaky.equal == 0
