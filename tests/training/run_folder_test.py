"""The lock of a run, and when its flags are written."""

import pytest
from programs import refusal
from squad_runs import squad_flags
from toy_trainer import dataset_fn, make_trainer

from bert_span.training.run_folder import RunFlags, locked_folder


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


def test_flags_are_written_once_a_training_is_accepted(tmp_path):
  path = tmp_path / "run.flags"

  def train(text, **options):
    flags = RunFlags(str(tmp_path), text)
    make_trainer(tmp_path, callbacks=[flags], **options).train(dataset_fn)

  train("first")
  with pytest.raises(ValueError, match="seed"):
    train("refused", seed=1)
  assert path.read_text() == "first"


def test_a_run_that_cannot_train_writes_nothing(squad_folder, tmp_path):
  missing = f"--predict_file={tmp_path}/missing.json"
  steps = ("--do_train", "--do_predict")
  flags = squad_flags(squad_folder, tmp_path, *steps, missing)
  assert "missing.json" in refusal("bert_span.run_squad", *flags)
  assert not list(tmp_path.iterdir())
