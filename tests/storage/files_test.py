"""Files that are read from the local disk and from other file systems."""

import subprocess
import sys

import pytest

from bert_span.storage import files


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_file_is_read_whole(tmp_path, prefix):
  (tmp_path / "file").write_bytes(b"\xff\n")
  assert files.read_bytes(f"{prefix}{tmp_path}/file") == b"\xff\n"


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_missing_file_is_an_oserror_that_names_it(tmp_path, prefix):
  with pytest.raises(OSError, match="absent"):
    files.read_bytes(f"{prefix}{tmp_path}/absent")


@pytest.mark.parametrize("content", [b'{"a": 1}', b'\xef\xbb\xbf{"a": 1}'])
def test_json_is_read_with_or_without_a_byte_order_mark(tmp_path, content):
  path = tmp_path / "file.json"
  path.write_bytes(content)
  assert files.read_json_object(path) == {"a": 1}


@pytest.mark.parametrize(
  "content", [b"", b"{", b"\xff", b"[1]", b"[" * 100_000, b"1" * 10_000]
)
def test_a_file_without_a_json_object_is_named(tmp_path, content):
  path = tmp_path / "file.json"
  path.write_bytes(content)
  with pytest.raises(ValueError, match=r"file\.json"):
    files.read_json_object(path)


def test_paths_and_globs_are_found_once_in_the_order_named(tmp_path):
  for name in ("b", "c", "a"):
    (tmp_path / name).touch()
  found = files.find_files(f"{tmp_path}/c, {tmp_path}/*")
  assert found == [f"{tmp_path}/{name}" for name in "cab"]


@pytest.mark.parametrize("patterns", ["", " , ", "/absent/*.txt"])
def test_patterns_without_a_file_are_refused(patterns):
  with pytest.raises(ValueError, match=patterns.strip(" ,*.tx") or "Received"):
    files.find_files(patterns)


def test_a_remote_directory_is_copied_for_readers_of_local_files(tmp_path):
  (tmp_path / "folder").mkdir()
  (tmp_path / "folder" / "file").write_text("content")
  files.copy_tree(str(tmp_path), "ram://copied")
  assert files.read_bytes("ram://copied/folder/file") == b"content"
  with files.local_directory("ram://copied") as local:
    assert files.read_bytes(f"{local}/folder/file") == b"content"
  with files.local_directory(str(tmp_path)) as local:
    assert local == str(tmp_path)


def test_local_files_do_not_load_tensorflow():
  code = (
    "import sys, bert_span.storage.atomic_file, bert_span.storage.fingerprints;"
    "assert 'tensorflow' not in sys.modules"
  )
  subprocess.run([sys.executable, "-c", code], check=True)
