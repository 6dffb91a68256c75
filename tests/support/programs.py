"""Programs and other Python code, run as users run them."""

import pathlib
import subprocess
import sys

_REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def run_program(name, *arguments, **options):
  """Runs a module such as "bert_span.ask"; else as `run_python`."""
  return run_python("-m", name, *arguments, **options)


def run_python(*arguments, **options):
  """Runs Python in the repository.

  Args:
    *arguments: the command line; paths become strings.
    **options: of subprocess.run, in the place of those here.

  Returns:
    subprocess.CompletedProcess with stdout and stderr as str, whatever the
    status is.
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
  """The last line of a program that refused what it was given."""
  assert run.returncode == 1, run.stderr
  assert "Traceback" not in run.stderr
  return run.stderr.splitlines()[-1]
