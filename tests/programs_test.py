"""What holds for every program: flags, checks, and one call of its job."""

import ast
import json
import os
import pathlib
import re
import sys

import pytest
from programs import define_flags, run_python

_ROOT = pathlib.Path(__file__).resolve().parent.parent
_PROGRAMS = sorted(
  f"{folder}.{path.stem}"
  for folder in ("bert_span", "export")
  for path in (_ROOT / folder).glob("*.py")
  if '\nif __name__ == "__main__":' in path.read_text("utf-8")
)


@pytest.mark.parametrize("program", _PROGRAMS)
def test_a_program_imports_one_job_and_that_in_a_function(program):
  path = _ROOT.joinpath(*program.split(".")).with_suffix(".py")
  tree = ast.parse(path.read_text("utf-8"))
  lazy = []
  for node in ast.walk(tree):
    if isinstance(node, ast.Import):
      modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
      modules = [node.module]
    else:
      continue
    if node not in tree.body:
      lazy += modules
      continue
    for module in modules:
      is_ours = re.match(
        r"absl|bert_span\.(cli|options)\b|.*(options|encoder_source)$", module
      )
      assert is_ours or module.split(".")[0] in sys.stdlib_module_names, module
  name = program.split(".")[1]
  if lazy:
    (job,) = lazy
    assert job.startswith("bert_span.jobs")
  else:
    assert f'"bert_span.jobs.{name}:' in path.read_text("utf-8")


# Prints the help of each program, and the modules that were loaded for it.
_HELP = """
import json, sys
from programs import run_here
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


def test_help_of_an_installed_command_lists_the_flags():
  command = "from bert_span.ask import run; run()"
  assert "--context_glob:" in run_python("-c", command, "--help").stdout
