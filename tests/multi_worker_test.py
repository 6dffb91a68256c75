"""Two processes that train together over the loopback interface."""

import json
import os
import pathlib
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from distributed_checks import Run, max_difference
from run_squad_test import folder, read  # noqa: F401 -- a fixture


def free_ports(count):
  """Ports that were free a moment ago."""
  sockets = [socket.socket() for _ in range(count)]
  for sock in sockets:
    sock.bind(("127.0.0.1", 0))
  ports = [sock.getsockname()[1] for sock in sockets]
  for sock in sockets:
    sock.close()
  return ports


def start_workers(program, arguments, count=2):
  """Starts the same command once for each worker.

  Returns:
    List of subprocess.Popen; standard error goes with standard output's pipe
    of its own.
  """
  workers = [f"127.0.0.1:{port}" for port in free_ports(count)]
  processes = []
  for index in range(count):
    task = {"type": "worker", "index": index}
    config = {"cluster": {"worker": workers}, "task": task}
    processes.append(
      subprocess.Popen(
        [sys.executable, *program, *arguments],
        env={**os.environ, "TF_CONFIG": json.dumps(config)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
      )
    )
  return processes


def finish(processes):
  """Waits for all; (status, output, errors) of each."""
  try:
    outputs = [process.communicate(timeout=1500) for process in processes]
  finally:
    for process in processes:
      process.kill()
  return [
    (process.returncode, *output)
    for process, output in zip(processes, outputs, strict=True)
  ]


@pytest.mark.large
def test_two_workers_make_the_updates_of_one_device(tmp_path):
  script = pathlib.Path(__file__).with_name("worker_run.py")
  done = finish(start_workers([str(script)], [str(tmp_path)]))
  for status, _, errors in done:
    assert status == 0, errors[-3000:]
  chief, other = (json.loads(output) for _, output, _ in done)
  assert chief["strategy"] == "2 CPUs of 2 workers (multi_worker_mirrored)"
  assert (chief["is_chief"], other["is_chief"]) == (True, False)
  assert chief["hash"] == other["hash"]

  expected = Run(tmp_path, tf.distribute.get_strategy(), batch_size=5)
  with np.load(tmp_path / "weights.npz") as weights:
    assert max_difference(expected.weights, weights) < 1e-5
  # What was saved can be read by a model without a strategy.
  fresh = Run(tmp_path, tf.distribute.get_strategy(), num_steps=1).model
  fresh.load_weights(tmp_path / "whole.weights.h5")
  path = "span_head/kernel"
  kernel = next(w for w in fresh.weights if w.path.endswith(path))
  np.testing.assert_allclose(
    kernel.numpy(), expected.weights[kernel.path], rtol=1e-4
  )

  # Every worker saves, the chief alone where the run stands.
  assert chief["own_dir"] == str(tmp_path / "run")
  assert other["own_dir"] != chief["own_dir"]
  assert not pathlib.Path(other["own_dir"]).exists()
  for worker in (chief, other):
    names = {"checkpoint", "model.ckpt-5.index", "train"}
    assert names <= set(worker["files"])
  assert len(list((tmp_path / "run" / "train").iterdir())) == 1


@pytest.mark.large
def test_run_squad_trains_on_two_workers_and_one_predicts(folder, tmp_path):  # noqa: F811
  flags = [
    f"--bert_config_file={folder}/bert_config.json",
    f"--vocab_file={folder}/vocab.txt",
    f"--train_file={folder}/v1.json",
    f"--predict_file={folder}/v1.json",
    f"--output_dir={tmp_path}",
    "--do_train",
    "--do_predict",
    *("--max_seq_length=32", "--doc_stride=8", "--max_query_length=12"),
    *("--train_batch_size=4", "--num_train_epochs=3", "--learning_rate=1e-2"),
  ]
  done = finish(start_workers(["-m", "bert_span.run_squad"], flags))
  for status, _, errors in done:
    assert status == 0, errors[-3000:]
    assert "2 CPUs of 2 workers (multi_worker_mirrored), 2 of" in errors
  chief, other = (errors for _, _, errors in done)
  assert "questions answered" in chief
  assert "questions answered" not in other
  assert "The model stands in" not in other
  assert len(read(tmp_path / "predictions.json")) == 8
