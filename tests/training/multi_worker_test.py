"""Two workers on this machine; one gets SIGTERM or SIGKILL."""

import json
import pathlib
import signal

import numpy as np
import pytest
import tensorflow as tf
import worker_run
from distributed_checks import (
  Run,
  compared_weights,
  make_model,
  max_difference,
)
from squad_runs import read, squad_flags
from toy_trainer import assert_same_checkpoint
from workers import finish, start_workers

from bert_span.training.callbacks import EXIT_CODE


@pytest.mark.large
def test_two_workers_make_the_updates_of_one_device(tmp_path):
  done = finish(start_workers(worker_run.__file__, tmp_path))
  for run in done:
    assert run.returncode == 0, run.stderr[-3000:]
  chief, other = (json.loads(run.stdout) for run in done)
  assert chief["strategy"] == "2 CPUs of 2 workers (multi_worker_mirrored)"
  assert (chief["is_chief"], other["is_chief"]) == (True, False)
  assert chief["hash"] == other["hash"]

  one = tf.distribute.get_strategy()
  expected = Run(tmp_path, one, batch_size=5, averages=True)
  with np.load(tmp_path / "weights.npz") as weights:
    assert max_difference(expected.weights, weights) < 1e-5
  # What was saved can be read by a model without a strategy.
  fresh = make_model(num_layers=1)
  fresh.load_weights(tmp_path / "whole.weights.h5")
  assert max_difference(expected.weights, compared_weights(fresh)) < 1e-5

  # Every worker saves, only the chief to the folder of the run.
  assert chief["own_dir"] == str(tmp_path / "run")
  assert other["own_dir"] != chief["own_dir"]
  assert not pathlib.Path(other["own_dir"]).exists()
  names = {"checkpoint", "model.ckpt-5.index", "train"}
  assert names <= set(chief["files"]) & set(other["files"])
  assert len(list((tmp_path / "run" / "train").iterdir())) == 1


_FLAGS = (
  *("--do_train", "--do_predict", "--num_train_epochs=8"),
  *("--save_checkpoints_steps=3", "--learning_rate=2e-3"),
)


@pytest.mark.large
def test_workers_end_together_and_go_on_together(squad_folder, tmp_path):
  """SIGTERM to one stops both; SIGKILL of one fails both; nothing is lost."""
  whole, stopped = tmp_path / "whole", tmp_path / "stopped"

  def start(output_dir):
    flags = squad_flags(squad_folder, output_dir, *_FLAGS)
    return start_workers("bert_span.run_squad", *flags)

  def train(output_dir):
    done = finish(start(output_dir))
    for run in done:
      assert run.returncode == 0, run.stderr[-3000:]
      assert "2 CPUs of 2 workers (multi_worker_mirrored), 2 of" in run.stderr
    return [run.stderr for run in done]

  def stop_second(sent, is_time):
    programs = start(stopped)
    programs[1].send_signal_when(is_time, sent)
    return finish(programs)

  chief, other = train(whole)
  for words in ("questions answered", "The model is in"):
    assert words in chief and words not in other
  # Written before the first step is traced, which takes longer than a signal.
  ended = stop_second(
    signal.SIGTERM, lambda: list((stopped / "train").glob("events*"))
  )
  assert [run.returncode for run in ended] == [EXIT_CODE] * 2, ended
  assert all("SIGTERM received" in run.stderr for run in ended)
  saved = set(stopped.glob("*.index"))
  assert saved and not (stopped / "model").exists()

  killed = stop_second(
    signal.SIGKILL, lambda: set(stopped.glob("*.index")) - saved
  )
  assert killed[1].returncode == -signal.SIGKILL
  assert killed[0].returncode not in (0, EXIT_CODE)
  assert not (stopped / "model").exists()

  assert all("Continuing from" in stderr for stderr in train(stopped))
  assert_same_checkpoint(stopped, whole)
  predictions = read(stopped / "predictions.json")
  assert predictions == read(whole / "predictions.json")
  assert len(predictions) == 8
