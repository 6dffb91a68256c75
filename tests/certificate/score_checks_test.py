"""Point 6: the official metrics."""

import pytest
from altered_goldens import altered

from bert_span.certificate.score_checks import check_scores


@pytest.mark.large
def test_every_figure_is_the_official_evaluators(original):
  for check in check_scores(original):
    assert check.holds, check.failures
    assert check.largest_difference is None or check.largest_difference <= 1e-9


@pytest.mark.large
def test_a_figure_that_is_off_by_a_millionth_is_noticed(original):
  key = "pred_a_peaky_predictions.json.gz | v1.1 evaluator"

  def change(results):
    scores = results[key]
    return {key: {**scores, "f1": scores["f1"] + 1e-6}}

  *_, files = check_scores(altered(original, "eval_results.json", change))
  assert files.cases == 2
  assert files.equal == 1
  assert not files.holds
