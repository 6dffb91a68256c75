"""Runs that get SIGKILL or SIGTERM, in real processes."""

import itertools
import os
import pathlib
import signal
import sys
import time

import pytest
import tensorflow as tf
from tensorflow.python.ops import gen_io_ops

from bert_span.training import checkpoints
from bert_span.training.callbacks import (
  EXIT_CODE,
  EvaluationInterrupted,
  Preempted,
  TerminationRequest,
)
from tests.support.programs import refusal, run_program, start_program
from tests.support.squad import read, run_squad, squad_flags
from tests.support.training import (
  NUM_STEPS,
  all_values,
  assert_same,
  assert_same_checkpoint,
  dataset_fn,
  make_batch,
  make_trainer,
)


def make_run(output_dir):
  """A trainer that saves every step and keeps two checkpoints."""
  options = {"save_checkpoints_steps": 1, "keep_checkpoint_max": 2}
  return make_trainer(output_dir, **options)


def train_until_killed(output_dir, point, step):
  """Trains and kills this process at a point of the save of a step.

  "writing": a file of the checkpoint is half written; "unnamed": they are
  written and the file "checkpoint" does not name them yet; "deleting": the
  files of an older one are half deleted.
  """
  trainer = make_run(output_dir)
  deletions = itertools.count(1)

  def is_half_written():  # The files are renamed when they are complete.
    for path in output_dir.glob(f"model.ckpt-{step}_temp/*"):
      os.truncate(path, path.stat().st_size // 2)
      return True

  def is_step():
    return trainer.step == step

  def is_half_deleted():  # The .index is gone, the .data not yet.
    return is_step() and next(deletions) == 2

  owner, name, is_time = {
    "writing": (gen_io_ops, "merge_v2_checkpoints", is_half_written),
    "unnamed": (checkpoints, "_write_list", is_step),
    "deleting": (tf.io.gfile, "remove", is_half_deleted),
  }[point]
  original = getattr(owner, name)

  def killing(*arguments, **keywords):
    if is_time():
      os.kill(os.getpid(), signal.SIGKILL)
    return original(*arguments, **keywords)

  setattr(owner, name, killing)
  trainer.train(dataset_fn)


@pytest.mark.large
def test_kills_within_saving_one_after_the_other_leave_the_same_weights(
  tmp_path,
):
  whole = make_run(tmp_path / "whole")
  whole.train(dataset_fn)
  killed = tmp_path / "killed"
  # In the first and in a later one; before the list names it; within the
  # deletion of an older one.
  points = ("writing", "writing", "unnamed", "deleting")
  for point, step in zip(points, (1, 3, 5, 6), strict=True):
    run = run_program(__file__, killed, point, step)
    assert run.returncode == -signal.SIGKILL, run.stderr
    unfinished = [path.name for path in killed.glob("*_temp")]
    assert unfinished == ([f"model.ckpt-{step}_temp"] * (point == "writing"))
  last = make_run(killed)
  assert last.train(dataset_fn) == NUM_STEPS - 6
  assert_same(all_values(last), all_values(whole))
  assert {path.name for path in killed.iterdir()} == {
    path.name for path in (tmp_path / "whole").iterdir()
  }


def test_a_signal_ends_the_step_saves_and_says_so(tmp_path, capsys):
  def make(step):
    if step == 4:
      os.kill(os.getpid(), signal.SIGTERM)
    return make_batch(step)

  before = signal.getsignal(signal.SIGTERM)
  trainer = make_trainer(tmp_path, callbacks=[TerminationRequest()])
  with pytest.raises(Preempted) as error:
    trainer.train(lambda first: dataset_fn(first, make=make))
  # The batches are made ahead: the signal may come some steps earlier.
  assert 1 <= trainer.step <= 5
  assert capsys.readouterr().err.splitlines()[-3:-1] == [
    f"Saved {tmp_path}/model.ckpt-{trainer.step}",
    f"Stopped after step {trainer.step}: SIGTERM received.",
  ]
  assert signal.getsignal(signal.SIGTERM) is before
  assert error.value.code == EXIT_CODE == 42


def test_a_long_evaluation_is_given_up_at_once():
  termination = TerminationRequest()
  seen = []
  with pytest.raises(EvaluationInterrupted), termination:
    for item in termination.interruptible(range(10)):
      seen.append(item)
      if item == 2:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)  # Python runs the handler between two lines.
  assert seen == [0, 1, 2]


@pytest.mark.large
@pytest.mark.parametrize("devices", [1, 2])
def test_run_squad_terminated_killed_and_finished_is_as_never_stopped(
  squad_folder, tmp_path, devices
):
  """Every weight, slot and seed, every evaluation and the best model.

  A second run is refused meanwhile.
  """
  flags = (
    *("--do_train", f"--num_devices={devices}", "--learning_rate=2e-3"),
    *("--save_checkpoints_steps=3", "--keep_checkpoint_max=2"),
    *("--num_train_epochs=8", "--eval_steps=5", "--early_stopping_patience=3"),
  )
  whole, stopped = tmp_path / "whole", tmp_path / "stopped"

  def start(output_dir):
    return start_program(
      "bert_span.run_squad", *squad_flags(squad_folder, output_dir, *flags)
    )

  undisturbed, program = start(whole), start(stopped)
  # Written before the first step is traced, which takes longer than a signal.
  program.send_signal_when(
    lambda: list((stopped / "train").glob("events*")), signal.SIGTERM
  )
  ended = program.finish()
  assert ended.returncode == EXIT_CODE, ended.stderr
  assert "SIGTERM received" in ended.stderr and "same command" in ended.stderr
  assert list(stopped.glob("*.index"))
  program = start(stopped)
  program.send_signal_when(
    (stopped / "evaluations.json").exists, signal.SIGSTOP
  )
  # Another run leaves it alone; the lock ends with the process.
  second = squad_flags(squad_folder, stopped, "--do_train", "--seed=2")
  message = refusal("bert_span.run_squad", *second)
  program.send_signal_when(lambda: True, signal.SIGKILL)
  assert program.finish().returncode == -signal.SIGKILL
  assert f"output_dir={stopped} is in use" in message
  assert "--seed=2" not in (stopped / "run.flags").read_text()
  again = run_squad(squad_folder, stopped, *flags)
  assert again.returncode == 0, again.stderr
  for words in ("Continuing from", ", the best by f1: step"):
    assert words in again.stderr
  run = undisturbed.finish()
  assert run.returncode == 0, run.stderr
  assert_same_checkpoint(stopped, whole)
  for name in ("evaluations.json", "model/selection.json"):
    assert read(stopped / name) == read(whole / name)
  assert len(list(stopped.glob("*.index"))) == 2


if __name__ == "__main__":
  train_until_killed(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
