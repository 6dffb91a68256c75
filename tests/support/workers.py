"""The same command as several workers of tf.distribute on one machine."""

import json
import os
import socket
import subprocess
import sys


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
