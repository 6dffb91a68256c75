"""Model selection within a training: what is scored, kept and stopped."""

import json
import os
import re
import shutil

import pytest

from bert_span.presets.selection import write_selection
from bert_span.training.callbacks import EvaluationInterrupted
from bert_span.training.options import SelectionOptions
from bert_span.training.selection import ModelSelection
from tests.support.training import (
  NUM_STEPS,
  assert_same,
  dataset_fn,
  make_trainer,
  read_events,
)


def _selecting_trainer(output_dir, f1_of_step, patience=None):
  """A trainer with these scores, or exceptions, at every second step."""
  kept_steps, directory = [], str(output_dir / "model")

  def score():
    value = f1_of_step[trainer.step]
    if isinstance(value, Exception):
      raise value
    return {"f1": value, "exact_match": value / 2}

  def write(selection):
    kept_steps.append(selection["step"])
    os.makedirs(directory, exist_ok=True)
    write_selection(directory, selection)

  selection = ModelSelection(
    SelectionOptions(2, "f1", early_stopping_patience=patience),
    *(NUM_STEPS, score, str(output_dir), directory, write, {}),
  )
  options = {"callbacks": [selection], "save_checkpoints_steps": 3}
  trainer = make_trainer(output_dir, **options)
  return trainer, selection, kept_steps


def _scores_of(selection):
  return {row["step"]: row["scores"]["f1"] for row in selection.state.value}


def test_without_a_metric_no_evaluation_is_the_best():
  options = SelectionOptions(2, None)
  selection = ModelSelection(options, NUM_STEPS, dict, "", "", dict, {})
  selection.state.value = [{"step": 2, "scores": {"f1": 60.0}}]
  assert selection.best is None


_SCORES = {2: 60.0, 4: 72.5, 6: 70.0, 7: 71.0}


@pytest.mark.large
def test_every_evaluation_is_kept_shown_and_written(tmp_path, capsys):
  """And changes no weight."""
  folder = tmp_path / "scored"
  trainer, selection, kept_steps = _selecting_trainer(folder, _SCORES)
  assert trainer.train(dataset_fn) == NUM_STEPS
  assert _scores_of(selection) == _SCORES  # 7: the last step in any case
  assert kept_steps == [2, 4]
  log = capsys.readouterr().err.splitlines()
  evaluations = [line for line in log if line.startswith("Evaluation")]
  assert [" best" in line for line in evaluations] == [True, True, False, False]
  assert re.search(r" 2: .*f1 60,.*exact_match 30\b", evaluations[0])
  file = json.loads((folder / "evaluations.json").read_text())
  assert (file["best_metric"], file["best_step"]) == ("f1", 4)
  assert [row["step"] for row in file["evaluations"]] == [2, 4, 6, 7]
  curves = read_events(folder, "eval")
  assert curves["f1"] == list(_SCORES.values())
  assert curves["exact_match"][-1] == 35.5
  plain = make_trainer(tmp_path / "plain")
  plain.train(dataset_fn)
  assert_same(trainer.model.get_weights(), plain.model.get_weights())
  # It goes on with its options and its best model only.
  other, *_ = _selecting_trainer(folder, _SCORES, patience=3)
  with pytest.raises(ValueError, match=r"early_stopping_patience .*None.* 3"):
    other.train(dataset_fn)
  shutil.rmtree(folder / "model")
  again, *_ = _selecting_trainer(folder, _SCORES)
  with pytest.raises(ValueError, match=f"{folder}/model.*output_dir"):
    again.train(dataset_fn)


def test_training_ends_when_patience_does_and_stays_ended(tmp_path, capsys):
  scores = {2: 60.0, 4: 59.0, 6: 60.0, 7: 99.0}
  trainer, _, kept_steps = _selecting_trainer(tmp_path, scores, patience=2)
  assert trainer.train(dataset_fn) == 6
  assert kept_steps == [2]
  reason = capsys.readouterr().err.splitlines()[-1]
  assert re.findall(r"step \d|f1|in \d", reason) == [
    *("step 6", "f1", "in 2", "step 2")
  ]
  again, selection, kept_steps = _selecting_trainer(tmp_path, scores, 2)
  assert again.train(dataset_fn) == 0
  assert capsys.readouterr().err.splitlines()[-1] == reason
  assert selection.stop_reason() in reason and kept_steps == []


class _Killed(Exception):
  pass


@pytest.mark.parametrize(
  ("scores", "faults", "patience", "num_steps", "kept"),
  [
    # The checkpoint of step 3 has the 60 of step 2.
    ([60.0, 61.0, 50.0, 50.0], {6: _Killed()}, 2, 4, [4]),
    # The checkpoint of step 6 was saved without its evaluation.
    (
      [60.0, 61.0, 62.0, 63.0],
      {6: EvaluationInterrupted(), 7: _Killed()},
      *(None, 1, [6, 7]),
    ),
  ],
)
def test_a_killed_run_chooses_and_stops_as_one_that_was_not(
  tmp_path, scores, faults, patience, num_steps, kept
):
  scores = dict(zip(_SCORES, scores, strict=True))
  killed, *_ = _selecting_trainer(tmp_path, {**scores, **faults}, patience)
  with pytest.raises(_Killed):
    killed.train(dataset_fn)
  again, selection, kept_steps = _selecting_trainer(tmp_path, scores, patience)
  assert again.train(dataset_fn) == num_steps
  assert _scores_of(selection) == scores
  assert kept_steps == kept
  assert bool(selection.stop_reason()) == bool(patience)


def test_a_score_that_cannot_decide_is_refused(tmp_path):
  trainer, *_ = _selecting_trainer(tmp_path, {2: float("nan")})
  with pytest.raises(ValueError, match=r"f1 .*step 2.*nan"):
    trainer.train(dataset_fn)
