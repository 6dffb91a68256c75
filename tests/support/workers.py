"""The same command as several workers of tf.distribute on one machine."""

import json
import socket

from programs import start_program


def start_workers(name, *arguments, count=2):
  """Starts a program once for each worker; a list of `Program`."""
  sockets = [socket.socket() for _ in range(count)]
  for each in sockets:
    each.bind(("127.0.0.1", 0))
  # Ports that were free a moment ago.
  workers = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
  for each in sockets:
    each.close()
  programs = []
  for index in range(count):
    task = {"type": "worker", "index": index}
    config = {"cluster": {"worker": workers}, "task": task}
    programs.append(
      start_program(name, *arguments, environ={"TF_CONFIG": json.dumps(config)})
    )
  return programs


def finish(programs):
  """Waits for all; list of subprocess.CompletedProcess."""
  return [program.finish() for program in programs]
