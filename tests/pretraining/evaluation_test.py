"""Scores on held-out text, after and during a training."""

import json

import pytest
from pretraining_runs import OPTIONS, batches_of, new_model
from tiny_pretraining import tiny_batch, tiny_model

from bert_span.pretraining.evaluation import evaluate, metrics_function
from bert_span.pretraining.loss import (
  model_inputs,
  prediction_sums,
  with_weights,
)
from bert_span.pretraining.options import PretrainingOptions
from bert_span.pretraining.pretrainer import pretrain
from bert_span.training.options import SelectionOptions
from bert_span.training.run.selection import ModelSelection


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


class _Keeper:
  steps = ()

  def save(self, step, metric, scores):
    self.steps = (*self.steps, step)

  def check_kept(self):
    raise AssertionError("a new run has no best model")


def _batches():
  """Two batches of held-out text, the same whenever they are asked for."""
  return [tiny_batch(seq_length=12, targets=2, seed=seed) for seed in (1, 2)]


@pytest.mark.large
def test_held_out_scores_are_those_of_the_model_at_that_step(tmp_path):
  options = PretrainingOptions(num_train_steps=5, **OPTIONS)
  (tmp_path / "text").mkdir()
  model, best_model = new_model(), _Keeper()
  out = tmp_path / "run"
  selection = ModelSelection(
    SelectionOptions(2, "mlm_loss", smaller_is_better=True),
    5,
    metrics_function(model, _batches, None),
    best_model,
    str(out),
  )
  batches = batches_of(tmp_path / "text", out)
  pretrain(model, batches, options, str(out), {}, [selection])
  rows = json.loads((out / "evaluations.json").read_text())["evaluations"]
  assert [row["step"] for row in rows] == [2, 4, 5]
  scores = evaluate(model, _batches())
  assert set(rows[-1]["scores"]) == {
    *("mlm_loss", "mlm_accuracy", "sbo_loss", "sbo_accuracy")
  }
  for name, value in rows[-1]["scores"].items():
    assert value == pytest.approx(scores[name], rel=1e-6)
  losses = [row["scores"]["mlm_loss"] for row in rows]
  best = rows[losses.index(min(losses))]["step"]
  assert best in best_model.steps
