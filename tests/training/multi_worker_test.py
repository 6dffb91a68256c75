"""Two workers on this machine; one gets SIGTERM or SIGKILL."""

import json
import pathlib
import signal
import socket
import sys

import pytest
import tensorflow as tf

from bert_span.training.callbacks import EXIT_CODE
from bert_span.training.options import ExecutionOptions, StrategyOptions
from bert_span.training.strategy import make_strategy
from tests.support.programs import start_program
from tests.support.squad import read, squad_flags
from tests.support.training import (
  Run,
  assert_same_checkpoint,
  compared_weights,
  make_span_model,
  max_difference,
)


def start_workers(name, *arguments):
  """Starts a program as two workers; a list of `Program`."""
  anywhere = ("127.0.0.1", 0)
  with socket.create_server(anywhere) as a, socket.create_server(anywhere) as b:
    # Ports that were free a moment ago.
    workers = [f"127.0.0.1:{each.getsockname()[1]}" for each in (a, b)]
  programs = []
  for index in range(2):
    task = {"type": "worker", "index": index}
    config = json.dumps({"cluster": {"worker": workers}, "task": task})
    environ = {"TF_CONFIG": config}
    programs.append(start_program(name, *arguments, environ=environ))
  return programs


def finish(programs, status=0):
  """Waits for workers that must end with a status; list of their runs."""
  done = [program.finish() for program in programs]
  assert [run.returncode for run in done] == [status] * 2, done
  return done


def train_as_worker(folder):
  """What one of the workers does in the first test; prints JSON."""
  strategy = make_strategy(StrategyOptions(), ExecutionOptions())
  # A batch of 5 on two workers: the second one has a row less.
  run = Run(folder, strategy, batch_size=5, layer_decay=0.9, name="run")
  own_dir = pathlib.Path(run.trainer._checkpoints.write_dir)
  run.model.save_weights(own_dir / "whole.weights.h5")
  weights = {path: values.tolist() for path, values in run.weights.items()}
  files = sorted(path.name for path in own_dir.iterdir())
  print(json.dumps([weights, files, str(own_dir)]))


@pytest.mark.large
def test_two_workers_make_the_updates_of_one_device(tmp_path):
  done = finish(start_workers(__file__, tmp_path))
  (weights, *chief), (same_weights, *other) = (
    json.loads(run.stdout) for run in done
  )
  assert weights == same_weights
  one = tf.distribute.get_strategy()
  expected = Run(tmp_path, one, batch_size=5, layer_decay=0.9).weights
  # What was saved can be read by a model without a strategy.
  fresh = make_span_model(num_layers=1)
  fresh.load_weights(tmp_path / "run" / "whole.weights.h5")
  assert max_difference(expected, compared_weights(fresh)) < 1e-5

  # Every worker saves, only the chief to the folder of the run.
  (files, own_dir), (other_files, other_dir) = chief, other
  assert own_dir == str(tmp_path / "run") != other_dir
  assert not pathlib.Path(other_dir).exists()
  assert {"checkpoint", "model.ckpt-5.index", "train"} <= set(files)
  assert files == other_files
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
    messages = [run.stderr for run in finish(start(output_dir))]
    words = "2 CPUs of 2 workers, 2 of"
    assert all(words in stderr for stderr in messages)
    return messages

  def stop_second(sent, is_time):
    programs = start(stopped)
    programs[1].send_signal_when(is_time, sent)
    return programs

  chief, other = train(whole)
  for words in ("questions answered", "The model is in"):
    assert words in chief and words not in other
  # Written before the first step is traced, which takes longer than a signal.
  programs = stop_second(
    signal.SIGTERM, lambda: list((stopped / "train").glob("events*"))
  )
  ended = finish(programs, EXIT_CODE)
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
  assert_same_checkpoint(stopped, whole)
  predictions = read(stopped / "predictions.json")
  assert predictions == read(whole / "predictions.json")
  assert len(predictions) == 8


if __name__ == "__main__":
  train_as_worker(pathlib.Path(sys.argv[1]))
