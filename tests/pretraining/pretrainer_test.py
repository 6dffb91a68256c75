"""Pre-training end to end in one process: it learns, resumes and scores."""

import json
import math

import numpy as np
import pytest
import tensorflow as tf
from corpus import VOCABULARY, stream_of
from pretraining_runs import LENGTH, MASKING, OPTIONS, batches_of, new_model
from tiny_pretraining import tiny_batch, tiny_model

from bert_span.pretraining.corpus.batches import (
  KEYS,
  EvaluationBatches,
  TextBatches,
)
from bert_span.pretraining.corpus.text_sources import TextFile
from bert_span.pretraining.heads.loss import prediction_sums
from bert_span.pretraining.masking.masked_sequence import SequenceMasker
from bert_span.pretraining.options import PretrainingOptions
from bert_span.pretraining.pretrainer import (
  evaluate,
  model_inputs,
  pretrain,
  pretraining_loss_fn,
)


class _StopsBefore:
  """Batches that end in an error, as a killed run does."""

  failure = None

  def __init__(self, batches, step):
    self._batches = batches
    self._step = step

  def dataset(self, first_step):
    return self._batches.dataset(first_step).take(self._step)


def test_a_stopped_run_ends_with_the_very_weights_of_an_unstopped_one(
  tmp_path,
):
  options = PretrainingOptions(num_train_steps=12, **OPTIONS)
  folder = tmp_path / "text"
  folder.mkdir()
  whole = new_model()
  out = tmp_path / "whole"
  assert pretrain(whole, batches_of(folder, out), options, str(out), {}) == 12
  out = tmp_path / "stopped"
  stopping = _StopsBefore(batches_of(folder, out), 8)
  with pytest.raises(ValueError, match="ended at step 8"):
    pretrain(new_model(), stopping, options, str(out), {})
  resumed = new_model(seed=99)
  assert pretrain(resumed, batches_of(folder, out), options, str(out), {}) == 7
  for expected, value in zip(whole.weights, resumed.weights, strict=True):
    np.testing.assert_array_equal(value.numpy(), expected.numpy())


def test_it_learns(tmp_path):
  """Which four words there are at all, out of 70."""
  text = tmp_path / "text.txt"
  words = np.random.default_rng(0).choice(["ak", "al", "am", "an"], (60, 5))
  text.write_text("\n\n".join(map(" ".join, words)))
  stream = stream_of([TextFile(str(text))])
  masker = SequenceMasker(VOCABULARY, MASKING)
  held_out = EvaluationBatches(stream, masker, 8, LENGTH, 2)
  batches = TextBatches(stream, masker, 4, LENGTH, 2, 5)
  model = new_model()
  before = evaluate(model, held_out)
  options = {**OPTIONS, "learning_rate": 2e-2}
  options = PretrainingOptions(num_train_steps=40, **options)
  pretrain(model, batches, options, str(tmp_path / "run"), {})
  after = evaluate(model, held_out)
  for name in ("mlm_loss", "sbo_loss"):
    assert before[name] == pytest.approx(math.log(70), abs=0.1)
    assert after[name] < before[name] - 0.3
  assert after["num_tokens"] == before["num_tokens"] == 60 * 7


def test_scores_are_means_over_targets_of_all_batches():
  model = tiny_model()
  batches = [tiny_batch(seed=1), tiny_batch(batch_size=2, seed=2)]
  for batch in batches:  # weights are told by the positions
    batch["masked_positions"] *= batch["mlm_weights"].astype(np.int32)
  scores = evaluate(model, batches)
  sums = [
    {name: float(value) for name, value in sums.items()}
    for sums in (
      prediction_sums(model(model_inputs(batch)), batch) for batch in batches
    )
  ]
  for name in ("mlm", "sbo"):
    targets = sum(part[f"{name}_targets"] for part in sums)
    loss = sum(part[f"{name}_loss"] for part in sums) / targets
    right = sum(part[f"{name}_correct"] for part in sums) / targets
    assert scores[f"{name}_loss"] == pytest.approx(loss, rel=1e-5)
    assert scores[f"{name}_accuracy"] == pytest.approx(right, rel=1e-5)
    assert scores[f"num_{name}_targets"] == targets
  assert scores["num_sequences"] == 5
  assert scores["num_tokens"] == sum(b["input_mask"].sum() for b in batches)
  assert scores["tokens_per_second"] > 0
  first = evaluate(model, batches, max_steps=1)
  assert first["num_sequences"] == 3


def test_nothing_to_evaluate_on_is_told():
  with pytest.raises(ValueError, match="no text to evaluate"):
    evaluate(tiny_model(), [])


def test_the_loss_function_draws_dropout_and_tells_its_parts():
  batch = {key: tf.constant(value) for key, value in tiny_batch().items()}
  losses = pretraining_loss_fn(1.0)
  model = tiny_model()
  (first, parts), (second, _) = losses(model, batch), losses(model, batch)
  assert first.shape == (3,)
  assert not np.array_equal(first.numpy(), second.numpy())
  assert set(parts) == {"mlm_loss", "sbo_loss"}
  np.testing.assert_allclose(sum(parts.values()), first, rtol=1e-6)


def test_inputs_leave_out_what_is_to_be_predicted():
  batch = {key: key for key in KEYS}
  assert "masked_ids" not in json.dumps(model_inputs(batch))
