"""Files that are whole or not there."""

import pytest

from bert_span.data.atomic_file import (
  open_atomically,
  write_json_atomically,
  write_text_atomically,
)


def test_text_replaces_an_old_file_as_utf8(tmp_path):
  path = tmp_path / "file.txt"
  path.write_text("old and longer")
  write_text_atomically(path, "é\n")
  assert path.read_bytes() == b"\xc3\xa9\n"
  assert list(tmp_path.iterdir()) == [path]


def test_json_has_the_form_of_run_squad(tmp_path):
  path = tmp_path / "file.json"
  write_json_atomically(path, {"b": "é", "a": [1]})
  assert path.read_text() == (
    '{\n    "b": "\\u00e9",\n    "a": [\n        1\n    ]\n}\n'
  )


def test_lines_can_be_written_one_by_one(tmp_path):
  path = tmp_path / "file.jsonl"
  with open_atomically(path) as file:
    file.write("1\n")
    assert not path.exists()
    file.write("2\n")
  assert path.read_text() == "1\n2\n"


def test_an_error_midway_leaves_the_old_file_and_no_other(tmp_path):
  path = tmp_path / "file.txt"
  path.write_text("old")
  with pytest.raises(KeyError), open_atomically(path) as file:
    file.write("new")
    raise KeyError
  assert path.read_text() == "old"
  assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_an_oserror_that_names_the_file(tmp_path):
  with pytest.raises(OSError, match="none"):
    write_text_atomically(tmp_path / "none" / "file.txt", "")


def test_remote_paths_are_written_by_tf_io_gfile_and_renamed():
  path = "ram://folder/file.txt"
  write_text_atomically(path, "first")
  write_text_atomically(path, "second")
  import tensorflow as tf

  with tf.io.gfile.GFile(path) as file:
    assert file.read() == "second"
  assert tf.io.gfile.listdir("ram://folder") == ["file.txt"]
