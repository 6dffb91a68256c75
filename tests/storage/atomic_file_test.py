"""Files that are whole or not there."""

import errno
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import pytest
import tensorflow as tf

from bert_span.storage.atomic_file import (
  open_atomically,
  recover_directory,
  replaced_directory,
  unfinished_directory,
  write_files,
  write_lines,
  write_text_atomically,
)
from bert_span.storage.files import read_bytes, tree_files
from bert_span.storage.record_files import open_records
from bert_span.storage.tensor_files import write_tensors


@pytest.fixture
def old(tmp_path):
  """A file that must stay as it is, alone in its folder."""
  path = tmp_path / "file.txt"
  path.write_text("old")
  yield path
  assert path.read_text() == "old"
  assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("folder", ["", "file://", "ram://folder"])
def test_text_replaces_an_old_file_as_utf8(tmp_path, folder):
  folder = folder if "folder" in folder else f"{folder}{tmp_path}"
  path = f"{folder}/file.txt"
  write_text_atomically(path, "old and longer")
  write_text_atomically(path, "é\n")
  with pytest.raises(KeyError), open_atomically(path) as file:
    file.write("third")
    raise KeyError
  assert read_bytes(path) == b"\xc3\xa9\n"
  assert tf.io.gfile.listdir(folder) == ["file.txt"]


def write_half(path):
  with open_records(path) as writer:
    writer.write(b"record")
    raise RuntimeError("power cut")


@pytest.mark.parametrize(
  ("write", "error"),
  [
    (lambda path: write_lines(path, map(int, "12x")), ValueError),
    (lambda path: write_text_atomically(path, "\ud800"), UnicodeEncodeError),
    (lambda path: write_tensors(path, {"a": np.array([object()])}), Exception),
    (write_half, RuntimeError),
  ],
)
def test_an_error_midway_leaves_the_old_file_and_no_other(old, write, error):
  with pytest.raises(error):
    write(str(old))


def test_errors_name_the_file(tmp_path):
  with pytest.raises(OSError, match="none"):
    write_text_atomically(tmp_path / "none" / "file.txt", "")
  with pytest.raises(IsADirectoryError, match=str(tmp_path)):
    write_text_atomically(tmp_path, "text")
  with pytest.raises(OSError, match="/dev/full") as caught:
    write_text_atomically("/dev/full", "text")
  assert caught.value.errno == errno.ENOSPC


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path):
  (tmp_path / "target").write_text("old")
  (tmp_path / "link").symlink_to("target")
  write_text_atomically(tmp_path / "link", "new")
  assert (tmp_path / "link").is_symlink()
  assert (tmp_path / "target").read_text() == "new"
  (tmp_path / "folder").mkdir()
  (tmp_path / "model").symlink_to("folder")
  _write(tmp_path / "model")
  assert (tmp_path / "model").is_symlink()
  assert (tmp_path / "folder" / "weights").read_text() == "2"


def test_devices_and_pipes_are_written_through(tmp_path):
  write_text_atomically(os.devnull, "gone")
  assert pathlib.Path(os.devnull).is_char_device()
  os.mkfifo(tmp_path / "pipe")
  with subprocess.Popen(
    ["cat", tmp_path / "pipe"], stdout=subprocess.PIPE
  ) as reader:
    write_text_atomically(tmp_path / "pipe", "text")
    assert reader.stdout.read() == b"text"
  assert (tmp_path / "pipe").is_fifo()


# --- Directories.


def _write(path):
  with unfinished_directory(str(path)) as unfinished:
    (pathlib.Path(unfinished) / "weights").write_text("2")


def _directory(path, content):
  path.mkdir()
  (path / "weights").write_text(content)
  return path


@pytest.fixture
def model(tmp_path):
  return _directory(tmp_path / "model", "1")


def test_a_directory_is_made_or_replaces_an_old_one(tmp_path, model):
  (model / "of_the_old_one").write_text("")
  new = tmp_path / "new"
  for path in (model, new):
    _write(path)
    assert (path / "weights").read_text() == "2"
  expected = [model, model / "weights", new, new / "weights"]
  assert sorted(tmp_path.rglob("*")) == expected


def test_a_directory_that_cannot_be_written_leaves_the_old_one(tmp_path, model):
  with pytest.raises(KeyError), unfinished_directory(str(model)) as unfinished:
    _directory(pathlib.Path(unfinished) / "part", "2")
    raise KeyError
  assert (model / "weights").read_text() == "1"
  assert list(tmp_path.iterdir()) == [model]


@pytest.mark.parametrize("prefix", ["", "ram://replaced"])
def test_new_files_replace_all_but_those_kept_locally_and_remotely(
  tmp_path, prefix
):
  directory = f"{prefix}{tmp_path}/model"
  for fill in (
    {"a": "1", "old": "1", "of/user": "1", "mark": "1"},
    {"b/c": "2"},
  ):
    with replaced_directory(
      directory, last=["mark"], keeps=lambda name: name in ("a", "of/user")
    ) as unfinished:
      for name, text in fill.items():
        path = pathlib.Path(unfinished, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
  names = tree_files(directory)
  assert {name: read_bytes(f"{directory}/{name}") for name in names} == {
    "a": b"1",
    "of/user": b"1",
    "b/c": b"2",
  }


def test_a_replaced_directory_keeps_links_empty_folders_and_its_mode(tmp_path):
  directory, elsewhere = tmp_path / "model", tmp_path / "elsewhere"
  for folder in (directory / "empty", elsewhere):
    folder.mkdir(parents=True)
  (elsewhere / "file").write_text("1")
  (directory / "notes").symlink_to(elsewhere)
  (directory / "dangling").symlink_to(tmp_path / "gone")
  directory.chmod(0o700)
  with replaced_directory(directory, keeps=lambda name: True) as unfinished:
    pathlib.Path(unfinished, "new").write_text("2")
  assert (directory / "notes").readlink() == elsewhere
  assert (directory / "dangling").readlink() == tmp_path / "gone"
  assert (directory / "empty").is_dir()
  assert (directory / "new").read_text() == "2"
  assert directory.stat().st_mode & 0o777 == 0o700
  assert (elsewhere / "file").read_text() == "1"


@pytest.mark.parametrize("mask", [0o002, 0o022, 0o077])
def test_folders_have_the_modes_of_the_umask_or_of_those_they_replace(
  tmp_path, mask
):
  def write(path):
    with replaced_directory(path, keeps=lambda name: True) as unfinished:
      tf.io.gfile.makedirs(f"{unfinished}/assets/tokenizer")
      pathlib.Path(tempfile.mkdtemp(dir=unfinished)).rename(f"{unfinished}/x")
      pathlib.Path(unfinished, "assets/tokenizer/new").write_text("2")

  def modes(path):
    names = ("", "assets", "assets/tokenizer", "x", "of/user")
    folders = [path / name for name in names if (path / name).exists()]
    return [folder.stat().st_mode & 0o777 for folder in folders]

  before = os.umask(mask)
  try:
    write(tmp_path / "new")
    (tmp_path / "old/assets/tokenizer").mkdir(parents=True)
    (tmp_path / "old/of/user").mkdir(parents=True)
    (tmp_path / "old/of/user/notes").write_text("1")
    for name in ("", "assets", "assets/tokenizer", "of", "of/user"):
      (tmp_path / "old" / name).chmod(0o750)
    write(tmp_path / "old")
    assert modes(tmp_path / "new") == [0o777 & ~mask] * 4
    assert modes(tmp_path / "old") == [0o750] * 5
  finally:
    os.umask(before)


def test_what_only_has_the_name_of_a_leftover_stays(tmp_path):
  names = [f"model.{'0' * 32}.tmp", f"model.{'1' * 32}.old"]
  for name in names:
    os.mkfifo(tmp_path / name)  # Opening it would wait for a writer.
  with unfinished_directory(tmp_path / "model") as unfinished:
    pathlib.Path(unfinished, "new").write_text("2")
  recover_directory(tmp_path / "model")
  assert sorted(p.name for p in tmp_path.iterdir()) == ["model", *names]


def test_a_remote_directory_has_its_marks_only_while_it_is_whole(monkeypatch):
  directory, marks = "ram://marks/model", ["mark", "second"]

  def fill(text):
    with replaced_directory(directory, marks) as unfinished:
      for name in ("second", "mark", "a", "z"):
        pathlib.Path(unfinished, name).write_text(text)

  fill("1")
  copy, copied = tf.io.gfile.copy, []

  def watched_copy(source, target, overwrite):
    copied.append(os.path.basename(target))
    present = [n for n in marks if tf.io.gfile.exists(f"{directory}/{n}")]
    assert present == [name for name in marks if name in copied[:-1]]
    copy(source, target, overwrite=overwrite)

  monkeypatch.setattr(tf.io.gfile, "copy", watched_copy)
  fill("2")
  assert sorted(copied[:2]) == ["a", "z"] and copied[2:] == marks
  with pytest.raises(KeyError), replaced_directory(directory, marks):
    raise KeyError
  assert read_bytes(f"{directory}/mark") == b"2"


class _Killed(BaseException):
  pass


@pytest.mark.parametrize("fault", [_Killed, OSError])
def test_a_fault_between_the_two_renames_leaves_the_old_directory(
  tmp_path, monkeypatch, model, fault
):
  rename, faults = os.rename, [fault]

  def faulty_rename(source, target):
    if target == str(model) and faults:
      raise faults.pop()
    rename(source, target)

  with monkeypatch.context() as patch, pytest.raises(fault):
    patch.setattr(os, "rename", faulty_rename)
    _write(model)
  assert model.exists() == (fault is OSError)
  recover_directory(str(model))
  assert (model / "weights").read_text() == "1"
  assert list(tmp_path.iterdir()) == [model]


def test_recovering_removes_what_is_left_and_nothing_else(tmp_path, model):
  other = _directory(tmp_path / "model.mine.tmp", "3")
  _directory(tmp_path / f"model.{'b' * 32}.tmp", "2")
  _directory(tmp_path / f"model.{'c' * 32}.old", "0")
  recover_directory(str(model))
  assert sorted(tmp_path.iterdir()) == [model, other]
  assert (model / "weights").read_text() == "1"
  recover_directory(str(tmp_path / "none" / "model"))


def test_an_outdated_link_is_removed_and_not_what_it_leads_to(tmp_path):
  folder, thesis = tmp_path / "run", tmp_path / "thesis.json"
  folder.mkdir()
  thesis.write_text("two years")
  (folder / "null_odds.json").symlink_to(thesis)
  (folder / "disagreement.json").hardlink_to(thesis)
  outdated = ["null_odds.json", "disagreement.json", "absent.json"]
  _, removed = write_files(folder, {"predictions.json": "{}"}, outdated)
  assert removed == [str(folder / name) for name in outdated[:2]]
  assert os.listdir(folder) == ["predictions.json"]
  assert thesis.read_text() == "two years"


def test_text_that_utf_8_cannot_hold_is_named_with_its_file(tmp_path):
  (tmp_path / "a").write_text("old")
  for text in ("half \ud83d", os.fsdecode(b"M\xfchle")):
    with pytest.raises(ValueError, match=f"written to {tmp_path}/a"):
      write_text_atomically(tmp_path / "a", text)
  assert (tmp_path / "a").read_text() == "old"
  assert os.listdir(tmp_path) == ["a"]
