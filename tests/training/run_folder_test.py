"""The lock of a run, and when its flags are written."""

import signal

import pytest
from programs import start_program
from squad_runs import run_squad, squad_flags
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


@pytest.mark.large
def test_a_second_run_squad_leaves_the_first_alone(squad_folder, tmp_path):
  """The lock of a process that was killed holds nobody up."""
  steps = ("--do_train", "--num_train_epochs=1000")
  program = start_program(
    "bert_span.run_squad", *squad_flags(squad_folder, tmp_path, *steps)
  )
  seconds = []

  def is_time():
    if list(tmp_path.glob("*.index")):
      seconds.append(run_squad(squad_folder, tmp_path, *steps, "--seed=2"))
    return seconds

  program.send_signal_when(is_time, signal.SIGKILL)
  assert program.finish().returncode == -signal.SIGKILL
  (second,) = seconds
  assert second.returncode == 1
  assert f"--output_dir={tmp_path} is in use" in second.stderr
  assert "--seed=2" not in (tmp_path / "run.flags").read_text()
  with locked_folder(str(tmp_path)):
    pass


@pytest.mark.large
def test_what_does_not_train_leaves_the_flags_alone(squad_folder, tmp_path):
  missing = f"--predict_file={tmp_path}/missing.json"
  for steps in (["--do_predict"], ["--do_train", "--do_predict", missing]):
    run = run_squad(squad_folder, tmp_path, *steps)
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert not list(tmp_path.iterdir())
  assert "--predict_file" in run.stderr
