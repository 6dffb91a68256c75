"""Trainings that get SIGKILL or SIGTERM, in real processes.

One of them are two workers, of which one gets the signal.
"""

import itertools
import os
import pathlib
import signal
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.ops import gen_io_ops

from bert_span.training import checkpoints
from bert_span.training.callbacks import EXIT_CODE
from tests.support.programs import (
  finish_workers,
  refusal,
  run_program,
  start_program,
  start_workers,
)
from tests.support.squad import read, run_squad, squad_flags
from tests.support.training import (
  NUM_STEPS,
  all_values,
  assert_same,
  dataset_fn,
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


def _assert_same_checkpoint(output_dir, expected_dir):
  """Compares all that the latest checkpoints hold, but TensorFlow's notes."""
  found, expected = map(_checkpoint_tensors, (output_dir, expected_dir))
  assert set(found) == set(expected)
  for name, value in expected.items():
    np.testing.assert_array_equal(found[name], value, err_msg=name)


def _checkpoint_tensors(output_dir):
  reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(output_dir))
  return {
    name: reader.get_tensor(name)
    for name in reader.get_variable_to_shape_map()
    if "OBJECT_GRAPH" not in name and "save_counter" not in name
  }


@pytest.mark.large
def test_run_squad_terminated_killed_and_finished_is_as_never_stopped(
  squad_folder, tmp_path
):
  """Every weight, slot and seed, every evaluation and the best model.

  A second run is refused meanwhile.
  """
  flags = (
    *("--do_train", "--learning_rate=2e-3"),
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
  assert f"output_dir={stopped}" in message
  assert "--seed=2" not in (stopped / "run.flags").read_text()
  again = run_squad(squad_folder, stopped, *flags).stderr
  assert "Continuing from" in again and " f1: step" in again
  run = undisturbed.finish()
  assert run.returncode == 0, run.stderr
  _assert_same_checkpoint(stopped, whole)
  for name in ("evaluations.json", "model/selection.json"):
    assert read(stopped / name) == read(whole / name)
  assert len(list(stopped.glob("*.index"))) == 2


_WORKER_FLAGS = (
  *("--do_train", "--do_predict", "--num_train_epochs=8"),
  *("--save_checkpoints_steps=3", "--learning_rate=2e-3"),
)


@pytest.mark.large
def test_workers_end_together_and_go_on_together(squad_folder, tmp_path):
  """SIGTERM to one stops both; SIGKILL of one fails both; nothing is lost."""
  whole, stopped = tmp_path / "whole", tmp_path / "stopped"

  def start(output_dir):
    flags = squad_flags(squad_folder, output_dir, *_WORKER_FLAGS)
    return start_workers("bert_span.run_squad", *flags)

  def train(output_dir):
    messages = [run.stderr for run in finish_workers(start(output_dir))]
    words = "2 CPUs of 2 workers, 2 of"
    assert all(words in stderr for stderr in messages)
    return messages

  def stop_second(sent, is_time):
    programs = start(stopped)
    programs[1].send_signal_when(is_time, sent)
    return programs

  chief, other = train(whole)
  for words in ("questions answered", f"{whole}/model"):
    assert words in chief and words not in other
  # Written before the first step is traced, which takes longer than a signal.
  programs = stop_second(
    signal.SIGTERM, lambda: list((stopped / "train").glob("events*"))
  )
  ended = finish_workers(programs, EXIT_CODE)
  assert all("SIGTERM received" in run.stderr for run in ended)
  saved = set(stopped.glob("*.index"))
  assert saved and not (stopped / "model").exists()

  programs = stop_second(
    signal.SIGKILL, lambda: set(stopped.glob("*.index")) - saved
  )
  chief, other = (program.finish().returncode for program in programs)
  assert other == -signal.SIGKILL
  assert chief not in (0, EXIT_CODE)
  assert not (stopped / "model").exists()

  assert all("Continuing from" in stderr for stderr in train(stopped))
  _assert_same_checkpoint(stopped, whole)
  predictions = read(stopped / "predictions.json")
  assert predictions == read(whole / "predictions.json")
  assert len(predictions) == 8


if __name__ == "__main__":
  train_until_killed(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
