"""Pre-training end to end in one process: it learns and resumes."""

import math

import numpy as np
import pytest
from corpus import VOCABULARY, stream_of
from pretraining_runs import LENGTH, MASKING, OPTIONS, batches_of, new_model

from bert_span.pretraining.batches import (
  PretrainingInput,
  TextBatches,
)
from bert_span.pretraining.masking import SequenceMasker
from bert_span.pretraining.options import PretrainingOptions
from bert_span.pretraining.pretrainer import evaluate, pretrain
from bert_span.pretraining.text_sources import TextFile


class _StopsBefore:
  """Batches that end in an error, as a killed run does."""

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
  """The text has four words out of a vocabulary of 70."""
  text = tmp_path / "text.txt"
  words = np.random.default_rng(0).choice(["ak", "al", "am", "an"], (60, 5))
  text.write_text("\n\n".join(map(" ".join, words)))
  stream = stream_of([TextFile(str(text))])
  masker = SequenceMasker(VOCABULARY, MASKING)
  making = PretrainingInput(VOCABULARY, True, LENGTH, MASKING)
  held_out = list(making.evaluation_batches([TextFile(str(text))], 8))
  batches = TextBatches(stream, masker, 4)
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
