"""Programs and other Python code, run in this process or as commands."""

import contextlib
import importlib
import io
import pathlib
import subprocess
import sys
import traceback
from unittest import mock

from absl import flags

_REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def run_program(name, *arguments, input=""):
  """Runs a program such as "bert_span.ask" in this process.

  Args:
    name: of the module, whose flags are defined anew.
    *arguments: of the command line; paths become strings.
    input: see `call_program`.

  Returns:
    subprocess.CompletedProcess with stdout and stderr as str.
  """
  import keras  # Not before conftest.py has chosen the backend.

  module = _fresh_module(name)
  keras.utils.clear_session()
  return call_program(module.run, module.__file__, *arguments, input=input)


def parse_flags(name, *arguments):
  """Returns absl's FLAGS of a program and a command line."""
  _fresh_module(name)
  flags.FLAGS([name, *map(str, arguments)])
  return flags.FLAGS


def call_program(run, *command, input=""):
  """Calls a function that reads sys.argv and ends like a program.

  Args:
    run: the function.
    *command: sys.argv; paths become strings.
    input: str or bytes, standard input.

  Returns:
    subprocess.CompletedProcess with stdout and stderr as str.
  """
  content = input if isinstance(input, bytes) else input.encode()
  stdin, stdout, stderr = map(_text_file, (content, b"", b""))
  with (
    mock.patch.object(sys, "argv", list(map(str, command))),
    mock.patch.object(sys, "stdin", stdin),
    contextlib.redirect_stdout(stdout),
    contextlib.redirect_stderr(stderr),
  ):
    status = _status(run)
    stdout.flush()
    stderr.flush()
  output, errors = (
    file.buffer.getvalue().decode() for file in (stdout, stderr)
  )
  return subprocess.CompletedProcess(command, status, output, errors)


def run_command(name, *arguments, **options):
  """Runs a module such as "bert_span.ask" as a command, see `run_python`."""
  return run_python("-m", name, *arguments, **options)


def run_python(*arguments, **options):
  """Runs Python in the repository.

  Args:
    *arguments: the command line; paths become strings.
    **options: of subprocess.run, in the place of those here.

  Returns:
    subprocess.CompletedProcess with stdout and stderr as str.
  """
  return subprocess.run(
    [sys.executable, *map(str, arguments)],
    **{
      "cwd": _REPOSITORY,
      "capture_output": True,
      "text": True,
      "timeout": 1800,
      **options,
    },
  )


def error_line(run):
  """Returns the last line of a program that refused what it was given."""
  assert run.returncode == 1, run.stderr
  assert "Traceback" not in run.stderr
  return run.stderr.splitlines()[-1]


def _fresh_module(name):
  """Imports a program whose flags, and those of an earlier one, are new."""
  for other in list(sys.modules):
    if other == name or f"{other}.".startswith("bert_span.cli."):
      del sys.modules[other]
  flags.FLAGS.unparse_flags()
  for flag in list(flags.FLAGS):
    definer = flags.FLAGS.find_module_defining_flag(flag) or ""
    if definer.startswith(("bert_span", "export")):
      delattr(flags.FLAGS, flag)
  return importlib.import_module(name)


def _text_file(content):
  return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")


def _status(run):
  """Calls a program; returns its exit status."""
  try:
    run()
  except SystemExit as exit_:
    if isinstance(exit_.code, str):
      print(exit_.code, file=sys.stderr)
      return 1
    return exit_.code or 0
  except Exception:
    traceback.print_exc()
    return 1
  return 0
