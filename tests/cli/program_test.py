"""How programs end."""

import pytest
import tensorflow as tf
from absl import flags
from programs import call_program, error_line

from bert_span.cli import program


def _run_main(main, *arguments):
  return call_program(lambda: program.run_program(main), "/x/qa.py", *arguments)


def _raise(error):
  raise error


@pytest.mark.parametrize(
  "error", [ValueError, OSError, flags.IllegalFlagValueError]
)
def test_a_mistake_of_a_user_is_one_line(error):
  run = _run_main(lambda argv: _raise(error("no such thing")))
  assert run.returncode == 1
  assert run.stderr == "qa: no such thing\n"


def test_a_file_that_tensorflow_does_not_find_is_one_line(tmp_path):
  run = _run_main(lambda argv: tf.io.gfile.GFile(f"{tmp_path}/x").read())
  assert f"{tmp_path}/x" in error_line(run)


def test_a_bug_keeps_its_traceback():
  run = _run_main(lambda argv: _raise(KeyError("bug")))
  assert run.returncode == 1
  assert "Traceback" in run.stderr


def test_words_that_are_no_flags_are_refused():
  run = _run_main(lambda argv: None, "do_train")
  assert "do_train" in error_line(run)
