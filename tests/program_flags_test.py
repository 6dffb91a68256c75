"""What programs share: how they end, and their groups of flags."""

import re
import subprocess
import sys

import pytest


def run_code(body, *arguments):
  code = f"""
import sys
from bert_span import program_flags

def main(argv):
  program_flags.refuse_arguments(argv)
  {body}

program_flags.run_program(main)
"""
  return subprocess.run(
    [sys.executable, "-c", code, *arguments],
    capture_output=True,
    text=True,
    check=False,
  )


@pytest.mark.parametrize(
  "error",
  [
    "ValueError('no such thing')",
    "OSError('no such thing')",
    "program_flags.flags.IllegalFlagValueError('no such thing')",
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


def test_shared_flags_are_defined_once_and_become_options():
  body = (
    "program_flags.window_flags(); program_flags.window_flags(); "
    "print(program_flags.window_options())"
  )
  code = (
    "from absl import flags; from bert_span import program_flags; "
    "program_flags.window_flags(); program_flags.decoder_flags(); "
    "flags.FLAGS(['x', '--doc_stride=7', '--version_2_with_negative']); "
    f"{body}; print(program_flags.decoder_options())"
  )
  run = subprocess.run(
    [sys.executable, "-c", code], capture_output=True, text=True, check=True
  )
  assert "doc_stride=7" in run.stdout
  assert "version_2_with_negative=True" in run.stdout


@pytest.mark.parametrize(
  ("program", "shared"),
  [
    ("run_squad", ["doc_stride", "vocab_file", "n_best_size", "no_span"]),
    ("ask", ["doc_stride", "null_score_diff_threshold"]),
    ("decode", ["doc_stride", "vocab_file", "output_dir", "no_span"]),
    ("calibrate", ["predict_file", "version_2_with_negative"]),
    ("evaluate", ["predict_file"]),
    ("inspect_windows", ["doc_stride", "do_lower_case"]),
    ("lint_squad", ["doc_stride", "vocab_file"]),
  ],
)
def test_help_lists_the_flags_that_programs_share(program, shared):
  run = subprocess.run(
    [sys.executable, "-m", f"bert_span.{program}", "--help"],
    capture_output=True,
    text=True,
    check=False,
  )
  for name in shared:
    assert re.search(rf"--(\[no\])?{name}:", run.stdout), name
