"""Checks 5 and 7: answers, n-best order, null odds."""

import pytest

from bert_span.certificate.decoding_checks import (
  compare_decoding,
  compare_null_odds,
)

_NUM_QUESTIONS = {"a": 4961, "c": 4961, "f": 3308}


@pytest.mark.large
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


@pytest.mark.large
@pytest.mark.parametrize(
  ("name", "change", "failing"),
  [
    (
      "pred_j_ties_predictions.json.gz",
      lambda _: "nothing like it",
      "Answers j, ties",
    ),
    (
      "pred_j_peaky_nbest_first84.json.gz",
      lambda n_best: [n_best[1], n_best[0], *n_best[2:]],
      "Best span and n-best order j, peaky",
    ),
    (
      "pred_j_ties_crashed.json",
      lambda _: "IndexError",
      "Questions that crash the original j, ties",
    ),
  ],
)
def test_one_difference_fails(sample, alter, name, change, failing):
  alter(name, lambda old: {**old, "edge001": change(old.get("edge001"))})
  comparisons = compare_decoding(sample, [sample.configurations["j"]])
  assert [c.name for c in comparisons if not c.passes] == [failing]


@pytest.mark.large
def test_odds_that_differ_a_little_fail(sample, alter):
  alter(
    "pred_j_peaky_null_odds.json.gz",
    lambda odds: {qas_id: value + 2e-4 for qas_id, value in odds.items()},
  )
  random, ties, peaky = compare_null_odds(sample, [sample.configurations["j"]])
  assert random.passes
  assert ties.passes
  assert peaky.equal == 0
