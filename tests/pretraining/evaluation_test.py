"""Scores on held-out text."""

import pytest
from tiny_pretraining import tiny_batch, tiny_model

from bert_span.pretraining.loss import (
  model_inputs,
  prediction_sums,
  with_weights,
)
from bert_span.pretraining.pretrainer import evaluate


def test_scores_are_means_over_targets_of_all_batches():
  model = tiny_model()
  batches = [tiny_batch(seed=1), tiny_batch(batch_size=2, seed=2)]
  scores = evaluate(model, batches)
  sums = [
    prediction_sums(model(model_inputs(batch)), with_weights(batch))
    for batch in batches
  ]
  for name in ("mlm", "sbo"):
    targets, loss, correct = (
      sum(float(part[f"{name}_{measure}"]) for part in sums)
      for measure in ("targets", "loss", "correct")
    )
    assert scores[f"{name}_loss"] == pytest.approx(loss / targets, rel=1e-5)
    assert scores[f"{name}_accuracy"] == pytest.approx(
      correct / targets, rel=1e-5
    )
    assert scores[f"num_{name}_targets"] == targets
  assert scores["num_sequences"] == 5
  assert scores["num_tokens"] == sum(b["input_mask"].sum() for b in batches)
  assert scores["tokens_per_second"] > 0
  first = evaluate(model, batches, max_steps=1)
  assert first["num_sequences"] == 3


def test_nothing_to_evaluate_on_is_refused():
  with pytest.raises(ValueError, match="no text to evaluate"):
    evaluate(tiny_model(), [])
