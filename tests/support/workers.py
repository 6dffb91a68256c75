"""The same command as several workers of tf.distribute on one machine."""

import json
import socket

from programs import start_program


def start_workers(name, *arguments, count=2):
  """Starts a program once for each worker; a list of `Program`."""
  sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
  # Ports that were free a moment ago.
  workers = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
  for each in sockets:
    each.close()
  programs = []
  for index in range(count):
    task = {"type": "worker", "index": index}
    config = json.dumps({"cluster": {"worker": workers}, "task": task})
    environ = {"TF_CONFIG": config}
    programs.append(start_program(name, *arguments, environ=environ))
  return programs


def finish(programs):
  """Waits for all; list of subprocess.CompletedProcess."""
  return [program.finish() for program in programs]
