"""What is printed and what is hidden while TensorFlow is imported."""

import pytest
from programs import run_python

_NOTE = """
import os, sys

class Finder:
  def find_spec(self, name, path=None, target=None):
    if name == "keras":
      os.write(2, b"a note of a library")
      {end}

sys.meta_path.insert(0, Finder())
from bert_span.cli.tensorflow_import import import_tensorflow
import_tensorflow()
sys.stderr.write("after")
"""


def test_notes_of_the_import_are_kept_back():
  run = run_python("-c", _NOTE.format(end=""))
  assert run.returncode == 0, run.stderr
  assert run.stderr == "after"


@pytest.mark.parametrize(
  "error", ["ImportError('no such library')", "SystemExit(3)"]
)
def test_notes_are_shown_where_the_import_fails(error):
  run = run_python("-c", _NOTE.format(end=f"raise {error}"))
  assert run.returncode != 0
  assert run.stderr.startswith("a note of a library")


def test_matplotlib_is_not_loaded_and_can_be_afterwards():
  code = """
import sys
from bert_span.cli.tensorflow_import import import_tensorflow
import_tensorflow()
assert "matplotlib" not in sys.modules
import matplotlib.figure
"""
  run = run_python("-c", code)
  assert run.returncode == 0, run.stderr
