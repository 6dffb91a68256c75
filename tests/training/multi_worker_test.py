"""Two processes that train together over the loopback interface."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf
import worker_run
from distributed_checks import Run, make_model, max_difference
from squad_runs import read
from workers import finish, start_workers


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
  path = "span_head/kernel"
  kernel = next(w for w in fresh.weights if w.path.endswith(path))
  np.testing.assert_allclose(
    kernel.numpy(), expected.weights[kernel.path], rtol=1e-4
  )

  # Every worker saves, only the chief to the folder of the run.
  assert chief["own_dir"] == str(tmp_path / "run")
  assert other["own_dir"] != chief["own_dir"]
  assert not pathlib.Path(other["own_dir"]).exists()
  for worker in (chief, other):
    names = {"checkpoint", "model.ckpt-5.index", "train"}
    assert names <= set(worker["files"])
  assert len(list((tmp_path / "run" / "train").iterdir())) == 1


@pytest.mark.large
def test_run_squad_trains_on_two_workers_and_one_predicts(
  squad_folder, tmp_path
):
  flags = [
    f"--bert_config_file={squad_folder}/bert_config.json",
    f"--vocab_file={squad_folder}/vocab.txt",
    f"--train_file={squad_folder}/v1.json",
    f"--predict_file={squad_folder}/v1.json",
    f"--output_dir={tmp_path}",
    "--do_train",
    "--do_predict",
    *("--max_seq_length=32", "--doc_stride=8", "--max_query_length=12"),
    *("--train_batch_size=4", "--num_train_epochs=3", "--learning_rate=1e-2"),
  ]
  done = finish(start_workers("bert_span.run_squad", *flags))
  for run in done:
    assert run.returncode == 0, run.stderr[-3000:]
    assert "2 CPUs of 2 workers (multi_worker_mirrored), 2 of" in run.stderr
  chief, other = (run.stderr for run in done)
  assert "questions answered" in chief
  assert "questions answered" not in other
  assert "The model is in" in chief and "The model is in" not in other
  assert len(read(tmp_path / "predictions.json")) == 8
