"""The lock of a run."""

import pytest
from programs import refusal
from squad_runs import squad_flags

from bert_span.training.run_folder import locked_folder


def test_a_folder_is_for_one_training_at_a_time(tmp_path):
  output_dir = tmp_path / "run"
  unfinished = output_dir / f"model.{'0' * 32}.tmp"
  with locked_folder(str(output_dir)):
    unfinished.mkdir()
    with (
      pytest.raises(ValueError, match=r"in use: process \d+ on .* trains"),
      locked_folder(str(output_dir), directories=["model"]),
    ):
      pass
    assert unfinished.exists()
  with locked_folder(str(output_dir), directories=["model"]):
    assert not unfinished.exists()


def test_a_run_that_cannot_train_writes_nothing(squad_folder, tmp_path):
  missing = f"--predict_file={tmp_path}/missing.json"
  steps = ("--do_train", "--do_predict")
  flags = squad_flags(squad_folder, tmp_path, *steps, missing)
  assert "missing.json" in refusal("bert_span.run_squad", *flags)
  assert not list(tmp_path.iterdir())
