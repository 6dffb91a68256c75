"""Check 6: the official metrics."""

import pytest
from altered_goldens import altered

from bert_span.certificate.score_checks import compare_scores


@pytest.mark.large
def test_every_metric_is_the_official_evaluators(original):
  for comparison in compare_scores(original):
    assert comparison.passes, comparison.failures
    assert comparison.largest_difference <= 1e-9


@pytest.mark.large
def test_a_metric_that_differs_by_a_millionth_fails(original):
  key = "pred_a_peaky_predictions.json.gz | v1.1 evaluator"

  def change(results):
    scores = results[key]
    return {key: {**scores, "f1": scores["f1"] + 1e-6}}

  *_, evaluations = compare_scores(
    altered(original, "eval_results.json", change)
  )
  assert evaluations.cases == 2
  assert evaluations.equal == 1
  assert not evaluations.passes
