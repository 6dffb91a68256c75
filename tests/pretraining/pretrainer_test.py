"""Pre-training end to end in one process: it learns, resumes and scores."""

import math

import keras
import numpy as np
import pytest

from bert_span.pretraining.loss import prediction_sums, pretraining_inputs
from bert_span.pretraining.model import PretrainingModel
from bert_span.pretraining.options import PretrainingOptions
from bert_span.pretraining.pretrainer import make_evaluate, pretrain
from bert_span.pretraining.text_sources import TextFile
from tests.support.models import tiny_encoder
from tests.support.training import (
  PRETRAINING_INPUT,
  VOCABULARY,
  assert_same,
  copy_stopped,
  tiny_batch,
  tiny_model,
)


@pytest.mark.large
def test_it_learns_and_a_stopped_run_ends_with_the_very_same_weights(tmp_path):
  """The text has four words out of a vocabulary of 70."""
  text = tmp_path / "text.txt"
  words = np.random.default_rng(0).choice(["ak", "al", "am", "an"], (60, 5))
  text.write_text("\n\n".join(map(" ".join, words)))
  sources = [TextFile(str(text))]
  options = PretrainingOptions(
    num_train_steps=40,
    train_batch_size=4,
    learning_rate=2e-2,
    num_warmup_steps=2,
    save_checkpoints_steps=17,
  )

  def train(model, folder):
    folder.mkdir(exist_ok=True)
    batches = PRETRAINING_INPUT.training_batches(
      sources, 4, str(folder / "places.jsonl")
    )
    return pretrain(model, batches, options, str(folder), {})

  held_out = list(PRETRAINING_INPUT.evaluation_batches(sources, 8))
  keras.utils.set_random_seed(1)
  sizes = {"vocabulary_size": len(VOCABULARY), "max_sequence_length": 12}
  whole, resumed = (PretrainingModel(tiny_encoder(**sizes)) for _ in range(2))
  evaluate = make_evaluate(whole)
  before = evaluate(held_out)
  assert train(whole, tmp_path / "whole") == 40
  after = evaluate(held_out)
  for name in ("mlm_loss", "sbo_loss"):
    assert before[name] == pytest.approx(math.log(70), abs=0.1)
    assert after[name] < before[name] - 0.3
  assert after["num_tokens"] == before["num_tokens"] == 60 * 7
  copy_stopped(tmp_path / "whole", tmp_path / "stopped", 17)
  assert train(resumed, tmp_path / "stopped") == 23
  assert_same(resumed.get_weights(), whole.get_weights())


def test_scores_are_means_over_targets_of_all_batches():
  model = tiny_model()
  batches = [tiny_batch(seed=1), tiny_batch(batch_size=2, seed=2)]
  evaluate = make_evaluate(model)
  scores = evaluate(batches)
  sums = [prediction_sums(model(pretraining_inputs(b)), b) for b in batches]
  totals = {key: sum(float(part[key]) for part in sums) for key in sums[0]}
  for name in ("mlm", "sbo"):
    targets = totals[f"{name}_targets"]
    assert scores[f"num_{name}_targets"] == targets
    for ours, summed in (("loss", "loss"), ("accuracy", "correct")):
      expected = totals[f"{name}_{summed}"] / targets
      assert scores[f"{name}_{ours}"] == pytest.approx(expected, rel=1e-5)
  assert scores["num_sequences"] == 5
  assert scores["num_tokens"] == sum(b["input_mask"].sum() for b in batches)
  assert scores["tokens_per_second"] > 0
  assert evaluate(batches, max_steps=1)["num_sequences"] == 3
