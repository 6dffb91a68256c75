"""Points 5 and 7: answers, n-best order, null odds."""

import pytest
from altered_goldens import altered

from bert_span.certificate.configurations import EDGE, REAL
from bert_span.certificate.decoding_checks import (
  check_decoding,
  check_null_odds,
)

_REAL = [c for c in REAL if not c.is_training]
_NUM_QUESTIONS = {"a": 4961, "c": 4961, "f": 3308}
(_J,) = (c for c in EDGE if c.name == "j")


@pytest.mark.large
@pytest.mark.parametrize("configuration", _REAL, ids=lambda c: c.name)
def test_spans_order_and_texts_are_the_originals(original, configuration):
  checks = check_decoding(original, configuration)
  for check in checks:
    assert check.holds, (check.name, check.failures)
  cases = {check.name: check for check in checks}
  answers = cases[f"Answers {configuration.name}, peaky"]
  assert answers.cases == _NUM_QUESTIONS[configuration.name]
  assert answers.cases - answers.equal <= 0.005 * answers.cases
  n_best = cases[f"Best span and n-best order {configuration.name}, peaky"]
  assert n_best.cases == n_best.equal >= 792


@pytest.mark.large
def test_null_odds_are_the_originals(original):
  (configuration,) = (c for c in _REAL if c.version_2)
  checks = check_null_odds(original, configuration)
  assert len(checks) == 3
  for check in checks:
    assert check.holds, check.failures
    assert check.cases > 3000


@pytest.mark.large
def test_another_answer_another_order_and_another_end_are_noticed(edge_cases):
  def break_answer(predictions):
    return {**predictions, "edge001": "nothing like it"}

  def swap(n_best):
    first, second, *others = n_best["edge001"]
    return {**n_best, "edge001": [second, first, *others]}

  for name, change, fallen in (
    ("pred_j_ties_predictions.json.gz", break_answer, "Answers j, ties"),
    (
      "pred_j_peaky_nbest_first84.json.gz",
      swap,
      "Best span and n-best order j, peaky",
    ),
    (
      "pred_j_ties_crashed.json",
      lambda crashed: {**crashed, "edge001": "IndexError"},
      "Questions that end the original j, ties",
    ),
  ):
    checks = check_decoding(altered(edge_cases, name, change), _J)
    assert [check.name for check in checks if not check.holds] == [fallen]


@pytest.mark.large
def test_odds_that_differ_a_little_are_noticed(edge_cases):
  def change(odds):
    return {qas_id: value + 2e-4 for qas_id, value in odds.items()}

  goldens = altered(edge_cases, "pred_j_peaky_null_odds.json.gz", change)
  random, ties, peaky = check_null_odds(goldens, _J)
  assert random.holds
  assert ties.holds
  assert peaky.equal == 0
