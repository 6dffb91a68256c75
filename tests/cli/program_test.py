"""How programs end."""

import pytest
import tensorflow as tf
from absl import flags

from bert_span.cli import program


@pytest.fixture
def run_main(monkeypatch, capsys):
  """A function that runs a main function; gives status and standard error."""

  def run(main, *arguments):
    monkeypatch.setattr("sys.argv", ["/x/qa.py", *arguments])
    with pytest.raises(SystemExit) as ended:
      program.run_program(main)
    return ended.value.code, capsys.readouterr().err

  return run


def _raise(error):
  raise error


@pytest.mark.parametrize(
  "error", [ValueError, OSError, flags.IllegalFlagValueError]
)
def test_a_mistake_of_a_user_is_one_line(run_main, error):
  ended = run_main(lambda argv: _raise(error("no such thing")))
  assert ended == (1, "qa: no such thing\n")


def test_a_file_that_tensorflow_does_not_find_is_one_line(run_main, tmp_path):
  status, line = run_main(lambda _: tf.io.gfile.GFile(f"{tmp_path}/x").read())
  assert status == 1
  assert line.startswith("qa: ") and f"{tmp_path}/x" in line


def test_a_bug_is_raised(run_main):
  with pytest.raises(KeyError):
    run_main(lambda argv: _raise(KeyError("bug")))


def test_words_that_are_no_flags_are_refused(run_main):
  status, line = run_main(lambda argv: None, "do_train")
  assert status == 1
  assert "do_train" in line
