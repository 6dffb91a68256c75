"""What holds for every program: flags, one call of its job, its recipes."""

import ast
import importlib
import json
import pathlib
import re
import runpy
import shlex
import sys
from unittest import mock

import pytest

from bert_span.cli.flags import read_flags
from tests.support.programs import define_flags, parse_flags, run_python

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


@pytest.mark.parametrize("program", _PROGRAMS)
def test_a_program_has_the_public_names_of_the_api_page(program):
  """Such as bert_span.jobs.ask.ask of bert_span.ask.AskOptions."""
  path = _ROOT.joinpath(*program.split(".")).with_suffix(".py")
  options = f"{path.stem.title().replace('_', '')}Options"
  assert f"\nclass {options}(" in path.read_text("utf-8")
  job = _ROOT / "bert_span" / "jobs" / path.name
  assert f'\ndef {path.stem}(options: "{options}"' in job.read_text("utf-8")


# Prints the help of each program, and the modules that were loaded for it.
_HELP = """
import json, sys
from tests.support.programs import run_here
helps = {name: run_here(name, "--help").stdout for name in sys.argv[1:]}
print(json.dumps([helps, list(sys.modules)]))
"""


def test_help_lists_all_flags_and_loads_no_tensorflow():
  ended = run_python("-c", _HELP, *_PROGRAMS)
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


@pytest.mark.parametrize(
  "name", sorted(path.name for path in (_ROOT / "flags").iterdir())
)
def test_a_recipe_has_a_header_whose_command_gives_options(monkeypatch, name):
  monkeypatch.chdir(_ROOT)
  text = (_ROOT / "flags" / name).read_text("utf-8")
  header = "\n".join(x for x in text.splitlines() if x.startswith("#"))
  for key in ("Program", "Command", "Data", "Hardware", "Time", "EM/F1"):
    assert re.search(rf"^# {key}:", header, re.MULTILINE), key
  command = re.search(
    r"^# Command: +python -m (.+(?:\n# {14}.+)*)", header, re.M
  )
  program, *words = shlex.split(command[1].replace("\n#", " "))
  assert re.search(r"^# Program: +python -m (\S+)", header)[1] == program
  assert words[0] == f"--flagfile=flags/{name}"
  parse_flags(program, *words)
  options = read_flags(importlib.import_module(program).run.options_type)
  assert options.do_train
  if program == "bert_span.run_squad":
    assert options.version_2_with_negative == name.endswith(
      ("squad2.flags", "minilm_squad.flags", "quickstart.flags")
    )
