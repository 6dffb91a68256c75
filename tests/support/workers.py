"""The same command as several workers of tf.distribute on one machine."""

import json
import socket

from programs import start_program


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


def finish(programs):
  """Waits for all; list of subprocess.CompletedProcess."""
  return [program.finish() for program in programs]
