"""Runs programs, and workers that kill themselves."""

import atexit
import contextlib
import dataclasses
import functools
import importlib
import io
import json
import multiprocessing
import os
import pathlib
import re
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
import typing
from multiprocessing import forkserver
from unittest import mock

import pytest
from absl import flags

from bert_span.cli import flags as cli_flags
from bert_span.cli import program
from bert_span.options.fields import option_fields

if typing.TYPE_CHECKING:
  from bert_span.beam.answering import AnswerSource

# absl knows modules by their id, which must not be that of a later one.
_earlier_modules = []
# The names of the flags of the program whose flags were defined last.
_defined = []
_REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Imported once a session. They must not make TensorFlow run anything: the
# programs are forked afterwards.
_PRELOADED = [
  *("pytest", "tensorflow", "tensorflow_text", "keras", "keras_hub"),
  "bert_span.jobs.run_squad",
  "bert_span.jobs.run_pretraining",
]


def run_program(name, *arguments):
  """Runs a module such as "bert_span.ask" in another process, a `Program`."""
  return start_program(name, *arguments).finish()


def run_here(name, *arguments, stdin=""):
  """`run_program` in this process; its messages begin with the whole name."""
  module = _imported(name)
  command = [name, *map(str, arguments)]
  output, errors, status = io.StringIO(), io.StringIO(), 0
  with (
    contextlib.redirect_stdout(output),
    contextlib.redirect_stderr(errors),
    mock.patch.object(sys, "argv", command),
    mock.patch.object(
      sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()))
    ),
  ):
    try:
      if hasattr(module, "run"):
        module.run()
      else:  # a benchmark
        program.run_program(module.main)
    except SystemExit as ended:
      status = ended.code or 0
  return subprocess.CompletedProcess(
    command, status, output.getvalue(), errors.getvalue()
  )


def succeeds(name, *arguments, run=run_program, **options):
  """`run_program`, or `run`, of a program that must end without an error."""
  ended = run(name, *arguments, **options)
  assert ended.returncode == 0, ended.stderr
  return ended


succeeds_here = functools.partial(succeeds, run=run_here)


def run_python(*arguments, **options):
  """Runs Python in the repository, with options of subprocess.run."""
  defaults = {"cwd": _REPOSITORY, "capture_output": True, "timeout": 1800}
  command = [sys.executable, *map(str, arguments)]
  return subprocess.run(command, **{**defaults, "text": True, **options})


def parse_flags(name, *arguments):
  """Parses a command line in this process; returns absl's FLAGS."""
  define_flags(name)
  flags.FLAGS([name, *map(str, arguments)])
  return flags.FLAGS


def define_flags(name):
  """Defines the flags of a program's module anew; returns their names."""
  forget_flags("benchmarks")
  others = {*flags.FLAGS}
  module = _imported(name)
  if hasattr(module, "run"):
    with mock.patch.object(sys, "argv", [name]):
      _defined[:] = cli_flags.define_flags(module.run.options_type)
    return sorted(_defined)
  return sorted({*flags.FLAGS} - others)


def _imported(name):
  """A module of a program, the only one whose flags are defined."""
  forget_flags("benchmarks")
  if name.startswith("benchmarks"):  # Its flags are those of the module.
    _earlier_modules.append(sys.modules.pop(name, None))
  return importlib.import_module(name)


def forget_flags(package):
  """Removes the flags that the modules of a package, or tests, have defined."""
  flags.FLAGS.unparse_flags()
  for flag in list(flags.FLAGS):
    definer = flags.FLAGS.find_module_defining_flag(flag) or ""
    if definer.startswith(package) or flag in _defined:
      delattr(flags.FLAGS, flag)
  _defined.clear()


def refusal(name, *arguments):
  """The message with which a program refuses flags, in this process."""
  with pytest.raises((flags.Error, ValueError, OSError)) as error:
    define_flags(name)
    words = flags.FLAGS([name, *map(str, arguments)])
    sys.modules[name].run.main(words)
  return str(error.value)


def undeclared_files(program, folder):
  """The names in an output folder that its program does not declare."""
  run = importlib.import_module(f"bert_span.{program}").run
  fields = {field.name: field for field in option_fields(run.options_type)}
  writes = fields["output_dir"].metadata["writes"]
  patterns = [pattern for names in writes.values() for pattern in names]
  names = {f"{p.name}/" if p.is_dir() else p.name for p in folder.iterdir()}
  return {n for n in names if not any(re.fullmatch(p, n) for p in patterns)}


def start_program(name, *arguments, environ=()):
  """Starts a module, or a script that ends in .py, as a `Program`."""
  return Program([str(name), *map(str, arguments)], dict(environ))


def start_workers(name, *arguments):
  """Starts a program as two workers of one training; a list of `Program`."""
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


def finish_workers(programs, status=0):
  """Waits for workers that must end with a status; list of their runs."""
  done = [program.finish() for program in programs]
  assert [run.returncode for run in done] == [status] * 2, done
  return done


class Program:
  """A running program, forked from a process that has imported TensorFlow."""

  def __init__(self, command, environ):
    self._command = command
    self._folder = tempfile.TemporaryDirectory()
    folder = pathlib.Path(self._folder.name)
    self._outputs = folder / "stdout", folder / "stderr"
    for path in self._outputs:
      path.touch()
    self._process = fork_server().Process(
      target=_run, args=(command, environ, *self._outputs)
    )
    self._process.start()

  def send_signal_when(self, is_time, sent):
    """Sends a signal once a function says that it is time."""
    deadline = time.monotonic() + 900
    while not is_time():
      assert self._process.is_alive(), self._read(1)
      assert time.monotonic() < deadline
      time.sleep(0.01)
    os.kill(self._process.pid, sent)

  def finish(self):
    """Waits for the end; returns a CompletedProcess of text."""
    self._process.join(1500)
    self._process.kill()  # If it has not ended.
    self._process.join()
    result = subprocess.CompletedProcess(
      self._command, self._process.exitcode, self._read(0), self._read(1)
    )
    self._folder.cleanup()
    return result

  def _read(self, index):
    return self._outputs[index].read_text(encoding="utf-8")


def error_line(run):
  """The last line of a program that refused what it was given."""
  assert run.returncode == 1, run.stderr
  assert "Traceback" not in run.stderr
  return run.stderr.splitlines()[-1]


@functools.cache
def fork_server():
  """The context of the process that programs are forked from."""
  context = multiprocessing.get_context("forkserver")
  context.set_forkserver_preload(_PRELOADED)
  # As program.run_program sets them, before TensorFlow is imported.
  variables = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "PYTHONPATH": os.pathsep.join([str(_REPOSITORY), *sys.path]),
  }
  with mock.patch.dict(os.environ, variables):
    forkserver.ensure_running()
  return context


def _run(command, environ, stdout, stderr):
  """Runs in the forked process."""
  for path, descriptor in ((stdout, 1), (stderr, 2)):
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, descriptor)
    os.close(file)
  os.environ.update(environ)
  os.chdir(_REPOSITORY)
  sys.argv = command
  try:
    if command[0].endswith(".py"):
      runpy.run_path(command[0], run_name="__main__")
    else:
      runpy.run_module(command[0], run_name="__main__", alter_sys=True)
  finally:
    # A forked process ends without them.
    atexit._run_exitfuncs()


@dataclasses.dataclass(frozen=True)
class KilledSource:
  """An `AnswerSource` whose process is killed at a question."""

  source: "AnswerSource"
  qas_id: str  # of the question
  folder: str  # gets a file each time
  times: int

  def load(self):
    """Loads the model; see `AnswerSource.load`."""
    answer_rows = self.source.load()

    def killed(examples):
      for row in answer_rows(examples):
        if row["id"] == self.qas_id:
          _kill_process(self.folder, self.times)
        yield row

    return killed


def make_killed_predict_fn(model, folder, times):
  """A function of `make_predict_fn` whose process is killed some times."""
  # Loads TensorFlow, without which --help is tested.
  from bert_span.serving.batch import make_predict_fn

  predict = make_predict_fn(model)

  def killed(questions, contexts):
    _kill_process(folder, times)
    return predict(questions, contexts)

  return killed


def _kill_process(folder, times):
  """Kills this process, until a folder has a file for each of `times`."""
  number = len(os.listdir(folder))
  if number < times:
    pathlib.Path(folder, str(number)).touch()
    os.kill(os.getpid(), signal.SIGKILL)
