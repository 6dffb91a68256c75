"""How programs end and what they print."""

import os
import signal
import subprocess
import sys
import textwrap
from unittest import mock

import pytest
import tensorflow as tf
from absl import flags

from bert_span.cli import program
from bert_span.training.callbacks import EXIT_CODE
from tests.support.programs import run_python


def test_what_a_user_or_storage_does_wrong_is_one_line(run_main, tmp_path):
  for error in (
    *(ValueError("cut off"), OSError("cut off")),
    flags.IllegalFlagValueError("cut off"),
    tf.errors.DataLossError(None, None, "cut off\n[[node]]"),
  ):
    assert run_main(mock.Mock(side_effect=error)) == (1, "qa: cut off\n")
  status, line = run_main(lambda _: tf.io.gfile.GFile(f"{tmp_path}/x").read())
  assert status == 1
  assert line.startswith("qa: ") and f"{tmp_path}/x" in line

  with pytest.raises(KeyError):  # A bug is raised.
    run_main(mock.Mock(side_effect=KeyError("bug")))


def test_flags_after_a_flagfile_override_it(run_main, tmp_path):
  path, seen = tmp_path / "x.flags", []
  path.write_text("# --verbosity=2\n--verbosity=1\n")
  for words in (
    [f"--flagfile={path}", "--verbosity=-1"],
    [f"--flagfile={path}"],
  ):
    run_main(lambda _: seen.append(flags.FLAGS.verbosity), *words)
  assert seen == [-1, 1]


@pytest.mark.parametrize("line", ["--verbosity=1", "# note", "--flagfile={}"])
def test_a_flag_file_may_begin_with_a_byte_order_mark(run_main, tmp_path, line):
  inner, outer, seen = tmp_path / "inner", tmp_path / "outer", []
  inner.write_text("--verbosity=1\r\n", encoding="utf-8-sig")
  outer.write_text(f"{line.format(inner)}\n--verbosity=1", "utf-8-sig")
  main = lambda _: seen.append(flags.FLAGS.verbosity)  # noqa: E731
  for word in (f"--flagfile={outer}", f"--flagfile={inner}"):
    assert run_main(main, word) == (None, "")
  assert seen == [1, 1]


def test_words_and_flag_files_that_are_no_flags_are_named(run_main, tmp_path):
  path = tmp_path / "x.flags"
  path.write_text("--do_train", encoding="utf-16")
  for word, named in (
    ("do_train", "unknown arguments do_train"),
    (f"--flagfile={path}", "--flagfile is not UTF-8"),
  ):
    status, line = run_main(lambda argv: None, word)
    assert status == 1 and named in line


def test_a_missing_file_is_named_with_its_flag(run_main, main_of, tmp_path):
  path = tmp_path / "missing.json"
  files = f"--predictions_file={path}", f"--predict_file={tmp_path}"
  status, line = run_main(main_of("bert_span.evaluate"), *files)
  assert status == 1
  assert line.startswith("qa: --predictions_file: ") and str(path) in line


@pytest.fixture
def script(tmp_path):
  """A function of the body of a main function that writes a program."""

  def write(body):
    lines = ("import atexit", "from bert_span.cli import program")
    body = textwrap.indent(textwrap.dedent(body), "  ")
    ends = f"def main(argv):{body}", "program.run_program(main)"
    (tmp_path / "main.py").write_text("\n".join([*lines, *ends]))
    return tmp_path / "main.py"

  return write


def test_a_reader_that_stops_is_no_error_and_a_full_disk_is_one_line(script):
  flushes = script("""
    for number in range(100_000):
      print(number, flush=True)
  """)
  for command, error in (
    ("-m bert_span.run_squad --helpfull | head -1", ""),
    (f"{flushes} | head -1", ""),
    ("-m bert_span.run_squad --helpfull >/dev/full", "No space left"),
  ):
    command = f"{sys.executable} {command}"
    run = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert error in run.stderr
    assert len(run.stderr.splitlines()) == bool(error)


@pytest.mark.large
def test_what_tensorflow_recovers_from_is_not_printed(script):
  # oneDNN has no kernel that transposes integers.
  path = script("""
    program.import_tensorflow()
    import tensorflow as tf
    tf.function(lambda x: tf.transpose(x))(tf.zeros([2, 2], tf.int32))
  """)
  environ = {**os.environ}
  environ.pop("TF_CPP_MIN_LOG_LEVEL", None)
  run = run_python(path, env=environ)
  assert (run.returncode, run.stderr) == (0, "")


def test_ctrl_c_ends_a_program_by_its_signal_and_without_a_traceback(script):
  path = script("""
    atexit.register(print, "cleaned")
    raise KeyboardInterrupt
  """)
  run = run_python(path)
  assert (run.returncode, run.stderr) == (-signal.SIGINT, "")
  assert run.stdout == "cleaned\n"


def test_a_preempted_program_ends_at_once(script):
  path = script("""
    from bert_span.training.callbacks import Preempted
    atexit.register(print, "slow")
    print("saved")
    raise Preempted
  """)
  run = run_python(path)
  assert (run.returncode, run.stdout) == (EXIT_CODE, "saved\n")


@pytest.mark.parametrize("name", ["export_saved_model", "export_tflite"])
def test_sigterm_acts_as_before_once_an_export_has_returned(
  run_main, main_of, name
):
  before = signal.getsignal(signal.SIGTERM)
  status, line = run_main(main_of(f"export.{name}"))
  assert status == 1 and "--model is required" in line
  assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_is_an_exit_where_an_import_hides_it():
  with pytest.raises(SystemExit) as ended, program.exit_on_sigterm():
    try:
      signal.raise_signal(signal.SIGTERM)
    except SystemExit:
      raise ImportError from None
  assert ended.value.code == 128 + signal.SIGTERM
