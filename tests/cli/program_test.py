"""How programs end."""

import pytest
from programs import run_python


def run_code(body, *arguments):
  code = f"""
import sys
from bert_span.cli import program

def main(argv):
  program.refuse_arguments(argv)
  {body}

program.run_program(main)
"""
  return run_python("-c", code, *arguments)


@pytest.mark.parametrize(
  "error",
  [
    "ValueError('no such thing')",
    "OSError('no such thing')",
    "program.flags.IllegalFlagValueError('no such thing')",
  ],
)
def test_a_mistake_of_a_user_is_one_line(error):
  run = run_code(f"raise {error}")
  assert run.returncode == 1
  assert run.stderr == "-c: no such thing\n"


def test_a_file_that_tensorflow_does_not_find_is_one_line(tmp_path):
  body = f"import tensorflow as tf; tf.io.gfile.GFile('{tmp_path}/x').read()"
  run = run_code(body)
  assert run.returncode == 1
  assert "Traceback" not in run.stderr
  assert f"{tmp_path}/x" in run.stderr.splitlines()[-1]


def test_a_bug_keeps_its_traceback():
  run = run_code("raise KeyError('bug')")
  assert run.returncode == 1
  assert "Traceback" in run.stderr


def test_words_that_are_no_flags_are_refused():
  run = run_code("pass", "do_train")
  assert run.returncode == 1
  assert "unknown arguments do_train" in run.stderr
