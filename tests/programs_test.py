"""What holds for every program: flags, checks, and one call of its job."""

import ast
import json
import os
import pathlib
import re
import runpy
import sys
from unittest import mock

import pytest

from tests.support.programs import define_flags, run_python

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_PROGRAMS = sorted(
  f"{folder}.{path.stem}"
  for folder in ("bert_span", "export")
  for path in (_ROOT / folder).glob("*.py")
  if '\nif __name__ == "__main__":' in path.read_text("utf-8")
)


@pytest.mark.parametrize("program", _PROGRAMS)
def test_a_program_is_its_options_and_one_job(program):
  path = _ROOT.joinpath(*program.split(".")).with_suffix(".py")
  tree = ast.parse(path.read_text("utf-8"))
  for node in ast.walk(tree):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
      assert node in tree.body
    if isinstance(node, ast.ImportFrom):
      assert re.match(
        r"bert_span\.(cli|options)\b|.*(options|encoder_source)$", node.module
      )
    elif isinstance(node, ast.Import):
      assert node.names[0].name in sys.stdlib_module_names
  name = program.split(".")[1]
  assert f'"bert_span.jobs.{name}:{name}"' in path.read_text("utf-8")


# Prints the help of each program, and the modules that were loaded for it.
_HELP = """
import json, sys
from tests.support.programs import run_here
helps = {name: run_here(name, "--help").stdout for name in sys.argv[1:]}
print(json.dumps([helps, list(sys.modules)]))
"""


def test_help_lists_all_flags_and_loads_no_tensorflow():
  paths = str(_ROOT / "tests" / "support"), str(_ROOT)
  environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
  ended = run_python("-c", _HELP, *_PROGRAMS, env=environ)
  assert ended.returncode == 0, ended.stderr
  helps, loaded = json.loads(ended.stdout)
  assert "bert_span.cli.program" in loaded
  assert not {*loaded} & {"tensorflow", "keras", "apache_beam", "numpy", "tqdm"}
  for program, text in helps.items():
    for name in define_flags(program):
      listed = rf"^ +(-\w,)?--(\[no\])?{name}:"
      assert re.search(listed, text, re.M), f"{program} --{name}"


def test_every_program_is_installed_as_a_command(monkeypatch):
  setup = mock.Mock()
  monkeypatch.setattr("setuptools.setup", setup)
  runpy.run_path(str(_ROOT / "setup.py"))
  _, installed = setup.call_args
  commands = {
    command.partition(" = ")[2].removesuffix(":run")
    for command in installed["entry_points"]["console_scripts"]
  }
  scripts = {
    path.removesuffix(".py").replace("/", ".") for path in installed["scripts"]
  }
  assert commands | scripts == {*_PROGRAMS}


def test_help_of_an_installed_command_lists_the_flags():
  command = "from bert_span.ask import run; run()"
  assert "--context_glob:" in run_python("-c", command, "--help").stdout
