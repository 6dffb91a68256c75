"""Checks 3, 4, 6 and 9: model, loss, optimizer, metrics, a fine-tuning run."""

import itertools

import pytest

from bert_span.certificate.model_checks import (
  compare_fine_tuning,
  compare_loss,
  compare_model,
  compare_optimizer,
)
from bert_span.certificate.score_checks import compare_scores

pytestmark = pytest.mark.large


@pytest.mark.parametrize(
  ("compare", "cases"),
  [
    (
      compare_model,
      {
        "Model: start_logits": 64,
        "Answering: start_logits": 64,
        "Training: loss of each of 20 steps": 20,
        "Training: weights after 20 steps": 37,
      },
    ),
    (
      compare_optimizer,
      {
        "Updates, dense: 9 variables, 40 steps": 40 * 9,
        "Updates, with_embedding: 10 variables, 40 steps": 40 * 10,
      },
    ),
    (compare_scores, {}),
  ],
)
def test_every_number_is_the_originals(original, compare, cases):
  comparisons = list(compare(original))
  for comparison in comparisons:
    assert comparison.passes, (comparison.name, comparison.failures)
  found = {comparison.name: comparison.cases for comparison in comparisons}
  assert found | cases == found


def test_a_loss_that_differs_a_little_fails(original, alter):
  def change(arrays):
    return {**arrays, "total_loss": arrays["total_loss"] + 3e-5}

  alter("model_loss_b64.npz", change)
  assert not compare_loss(original).passes


def test_a_metric_that_differs_by_a_millionth_fails(original, alter):
  key = "pred_a_peaky_predictions.json.gz | v1.1 evaluator"

  def change(results):
    return {key: {**results[key], "f1": results[key]["f1"] + 1e-6}}

  alter("eval_results.json", change)
  *_, evaluations = compare_scores(original)
  assert (evaluations.cases, evaluations.equal) == (2, 1)
  assert not evaluations.passes


def test_a_rate_that_differs_in_the_last_bit_fails(original, alter):
  key = "5e-05/1113/111"

  def change(value):
    rates = list(value["tables"][key])
    rates[3] *= 1.0000001
    return {"tables": {key: rates}}

  alter("learning_rate_tables.json", change)
  rates = next(compare_optimizer(original))
  assert rates.cases - rates.equal == 1
  assert not rates.passes


def test_one_other_batch_fails(sample, alter):
  def change(arrays):
    batches = arrays["batches"].copy()
    batches[3] = batches[4]
    return {**arrays, "batches": batches}

  alter("fine_tuning.npz", change)
  losses, weights = itertools.islice(compare_fine_tuning(sample), 2)
  assert not losses.passes
  assert losses.failures[0].startswith("step 3:")
  assert not weights.passes
