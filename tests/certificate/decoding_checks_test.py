"""Checks 5 and 7: answers, n-best order, null odds."""

import pytest
from altered_goldens import altered

from bert_span.certificate.decoding_checks import (
  compare_decoding,
  compare_null_odds,
)
from bert_span.certificate.golden_files import EDGE, REAL

_REAL = [c for c in REAL if not c.is_training]
_NUM_QUESTIONS = {"a": 4961, "c": 4961, "f": 3308}
_J = [c for c in EDGE if c.name == "j"]


@pytest.mark.large
@pytest.mark.parametrize("configuration", _REAL, ids=lambda c: c.name)
def test_spans_order_and_texts_are_the_originals(original, configuration):
  comparisons = compare_decoding(original, [configuration])
  for comparison in comparisons:
    assert comparison.passes, (comparison.name, comparison.failures)
  by_name = {comparison.name: comparison for comparison in comparisons}
  answers = by_name[f"Answers {configuration.name}, peaky"]
  assert answers.cases == _NUM_QUESTIONS[configuration.name]
  assert answers.cases - answers.equal <= 0.005 * answers.cases
  n_best = by_name[f"Best span and n-best order {configuration.name}, peaky"]
  assert n_best.cases == n_best.equal >= 792


@pytest.mark.large
def test_null_odds_are_the_originals(original):
  comparisons = compare_null_odds(original, REAL)
  assert len(comparisons) == 3
  for comparison in comparisons:
    assert comparison.passes, comparison.failures
    assert comparison.cases > 3000


@pytest.mark.large
@pytest.mark.parametrize(
  ("name", "change", "failing"),
  [
    (
      "pred_j_ties_predictions.json.gz",
      lambda predictions: {**predictions, "edge001": "nothing like it"},
      "Answers j, ties",
    ),
    (
      "pred_j_peaky_nbest_first84.json.gz",
      lambda n_best: {
        **n_best,
        "edge001": [n_best["edge001"][i] for i in (1, 0)]
        + n_best["edge001"][2:],
      },
      "Best span and n-best order j, peaky",
    ),
    (
      "pred_j_ties_crashed.json",
      lambda crashed: {**crashed, "edge001": "IndexError"},
      "Questions that crash the original j, ties",
    ),
  ],
  ids=["answer", "order", "crash"],
)
def test_one_difference_fails(edge_cases, name, change, failing):
  comparisons = compare_decoding(altered(edge_cases, name, change), _J)
  assert [c.name for c in comparisons if not c.passes] == [failing]


@pytest.mark.large
def test_odds_that_differ_a_little_fail(edge_cases):
  def change(odds):
    return {qas_id: value + 2e-4 for qas_id, value in odds.items()}

  goldens = altered(edge_cases, "pred_j_peaky_null_odds.json.gz", change)
  random, ties, peaky = compare_null_odds(goldens, _J)
  assert random.passes
  assert ties.passes
  assert peaky.equal == 0
