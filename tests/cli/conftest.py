"""For tests that parse flags themselves."""

import sys

import pytest

from bert_span.cli.program import run_program
from tests.support.programs import define_flags, forget_flags


@pytest.fixture(autouse=True)
def no_required_flags():
  """Other tests leave flags of benchmarks, some of which are required."""
  forget_flags("benchmarks")


@pytest.fixture
def run_main(monkeypatch, capsys):
  """A function that runs a main function; gives status and standard error."""

  def run(main, *arguments, **options):
    monkeypatch.setattr("sys.argv", ["/x/qa.py", *arguments])
    with pytest.raises(SystemExit) as ended:
      run_program(main, **options)
    return ended.value.code, capsys.readouterr().err

  return run


@pytest.fixture
def main_of():
  """A function of a program's name: its main function, with its flags."""

  def main(name):
    define_flags(name)
    return sys.modules[name].run.main

  return main
