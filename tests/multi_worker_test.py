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
  for folder in (chief["own_dir"], other["own_dir"]):
    names = {path.name for path in pathlib.Path(folder).iterdir()}
    assert {"checkpoint", "model.ckpt-5.index", "train"} <= names
  assert len(list((tmp_path / "run" / "train").iterdir())) == 1
