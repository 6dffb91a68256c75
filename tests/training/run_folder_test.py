"""The lock of a run."""

import os

import pytest

from bert_span.training.run_folder import locked_folder


def test_a_folder_is_for_one_training_at_a_time(tmp_path):
  output_dir = tmp_path / "run"
  unfinished = output_dir / f"model.{'0' * 32}.tmp"
  with locked_folder(str(output_dir)):
    unfinished.mkdir()
    with (
      pytest.raises(
        ValueError, match=rf"{output_dir}.* process {os.getpid()} "
      ),
      locked_folder(str(output_dir), directories=["model"]),
    ):
      pass
    assert unfinished.exists()
  with locked_folder(str(output_dir), directories=["model"]):
    assert not unfinished.exists()


def _link(path, target):
  path.symlink_to(target)


@pytest.mark.parametrize(
  "make",
  [
    *(_link, lambda path, target: path.hardlink_to(target)),
    *(lambda path, _: os.mkfifo(path), lambda path, _: path.mkdir()),
  ],
)
def test_a_lock_that_is_no_plain_file_is_refused(tmp_path, make):
  (tmp_path / "run").mkdir()
  target = tmp_path / "thesis.txt"
  target.write_text("two years")
  make(tmp_path / "run/run.lock", target)
  with (
    pytest.raises(ValueError, match=r"run\.lock.*output_dir"),
    locked_folder(str(tmp_path / "run")),
  ):
    pass
  assert target.read_text() == "two years"


def test_the_text_of_a_lock_need_not_be_utf_8(tmp_path):
  with locked_folder(str(tmp_path)):
    (tmp_path / "run.lock").write_bytes(b"process \xff\n")
    with (
      pytest.raises(ValueError, match=f"{tmp_path}.*process"),
      locked_folder(str(tmp_path)),
    ):
      pass
