"""Files that are read: found, named with their fault, and hashed."""

import bz2
import hashlib
import io
import json
import lzma
import pickle
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
import tensorflow as tf

from bert_span.storage import files
from bert_span.storage.files import encodable


def _zip(name):
  """The bytes of a zip archive of one empty file."""
  content = io.BytesIO()
  with zipfile.ZipFile(content, "w") as archive:
    archive.writestr(name, "")
  return content.getvalue()


def test_a_lone_surrogate_becomes_one_replacement_character():
  text = json.loads(r'"a\ud83d b\ude00c \ud83d\ude00"')
  assert encodable(text) == "a\ufffd b\ufffdc \U0001f600"
  assert encodable("Ada 中 \U0001f600 \x00") == "Ada 中 \U0001f600 \x00"


# ram:// is a file system of TensorFlow's only, as gs:// is.
@pytest.mark.parametrize("prefix", ["", "file://", "ram://read"])
def test_a_file_is_read_and_hashed_whole(tmp_path, monkeypatch, prefix):
  monkeypatch.setattr(files, "_BLOCK_BYTES", 1000)
  content = bytes(range(256)) * 5  # more than one block
  folder = f"{prefix}{tmp_path}"
  tf.io.gfile.makedirs(folder)
  with tf.io.gfile.GFile(f"{folder}/file", "wb") as file:
    file.write(content)
  assert files.read_bytes(f"{folder}/file") == content
  digest = hashlib.sha256(content).hexdigest()
  assert files.file_sha256(f"{folder}/file") == digest
  assert files.is_file(f"{folder}/file") and not files.is_file(folder)
  assert not files.is_file(f"{folder}/absent")
  with pytest.raises(FileNotFoundError, match=f"'{folder}/absent'"):
    files.read_bytes(f"{folder}/absent")


def test_a_scheme_without_a_file_system_is_named():
  for path in ("none://a/b.json", "https://a.example/b.json"):
    with pytest.raises(ValueError, match=f"^{path}: .*Copy the file"):
      files.read_json(path)


def test_a_path_with_the_scheme_of_local_files_is_that_file(tmp_path):
  (tmp_path / "link").symlink_to("file")
  for host in ("", "localhost"):
    path = files.real_path(f"file://{host}{tmp_path}/link")
    assert path == files.real_path(tmp_path / "file")


@pytest.mark.parametrize(
  ("content", "words"),
  [
    (b"", []),
    (b"hello", ["line 1, column 1"]),
    (b'{"data": [{"title": "Be', ["line 1"]),
    (b'{"data": "\xff"}', ["0xff", "10", "iconv"]),
    ('{"data": []}'.encode("utf-16"), ["iconv -f UTF-16"]),
    ('{"data": []}'.encode("utf-16-le"), ["1", "iconv -f UTF-16"]),
    (b"\x1f\x8b\x08rest", ["gunzip"]),
    (b"<!DOCTYPE html>", ["HTML"]),
    (b"version https://git-lfs.github.com/spec/v1", ["git lfs pull"]),
    (b'{"id": 1}\n{"id": 2}\n', ["JSON Lines"]),
    (b"[" * 100_000, []),
    (b'{"a":' * 101 + b"1" + b"}" * 101, ["100"]),
    (b"9" * 5000, []),
    (b"[1]", ["list"]),
    (pickle.dumps([{"id": "a"}]), ["pickle"]),
    (pickle.dumps([{"id": "a"}], 0), ["pickle"]),
    (pickle.dumps({"data": []}, 0), ["pickle"]),
    (pickle.dumps([{"id": "a"}], 1), ["pickle"]),
    (pickle.dumps({"data": []}, 1), ["pickle"]),
    (_zip("train.json"), ["unzip"]),
    (_zip("xl/workbook.xml"), ["Excel"]),
    (_zip("data.npy"), ["npz"]),
    (bz2.compress(b"{}"), ["bunzip2"]),
    (lzma.compress(b"{}"), ["unxz"]),
    (b"PAR1\x15\x04\x15\x00", ["Parquet"]),
    (b"ARROW1\x00\x00", ["Arrow"]),
    (b"\xff\xff\xff\xff\x10\x00", ["Arrow"]),
    (b"\x89PNG\r\n\x1a\n\x00" + bytes(range(32)), ["binary"]),
    (b"id,question\na,Who?\n", ["CSV", "line 1"]),
    (b'"id"\t"question"\n1\t2\n', ["TSV"]),
  ],
)
def test_a_file_without_a_json_object_is_named_with_its_fault(
  tmp_path, content, words
):
  path = tmp_path / "file.json"
  path.write_bytes(content)
  with pytest.raises(ValueError) as caught:
    files.read_json_object(path)
  message = str(caught.value)
  assert message.startswith(f"{path}: ")
  assert all(word in message for word in words)
  path.write_bytes(b"[" * 100 + b"]" * 100)
  assert files.read_json(path)


def test_the_kind_of_a_binary_file_is_named_where_text_is_read(tmp_path):
  path = tmp_path / "vocab.txt"
  path.write_bytes(_zip("vocab.txt"))
  with pytest.raises(ValueError, match=r"vocab\.txt: a zip archive"):
    files.read_text(path)
  # Texts may begin as such files do.
  for text in ("PAR1 is a gene.", "BZh\x00 中"):
    assert files.decode_utf8(text.encode(), "text") == text


@pytest.mark.skipif(not shutil.which("iconv"), reason="needs iconv")
@pytest.mark.parametrize(
  "encoding", ["latin1", "utf-16", "utf-16-le", "utf-16-be"]
)
def test_the_remedy_for_another_encoding_makes_the_file_readable(
  tmp_path, encoding
):
  path, values = tmp_path / "file.json", {"data": "Zoë"}
  path.write_bytes(json.dumps(values, ensure_ascii=False).encode(encoding))
  with pytest.raises(ValueError) as caught:
    files.read_json_object(path)
  command = re.search(r"iconv -f \S+ -t UTF-8", str(caught.value))[0]
  converted = subprocess.run(
    [*command.split(), path], check=True, stdout=subprocess.PIPE
  )
  path.write_bytes(converted.stdout)
  assert files.read_json_object(path) == values


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_at_the_limit_of_recursion_is_no_crash(
  tmp_path, opening, closing
):
  path = tmp_path / "deep.json"
  for depth in (*range(940, 1000, 2), 5_000):
    path.write_text(f'{{"q": {opening * depth}1{closing * depth}}}')
    with pytest.raises(ValueError, match=r"deep\.json"):
      files.read_json_object(path)


def test_a_file_without_an_end_is_refused(monkeypatch):
  monkeypatch.setattr(files, "MAX_JSON_BYTES", 1000)
  with pytest.raises(ValueError, match=r"/dev/zero.* 1,000 bytes"):
    files.read_json("/dev/zero")


def test_paths_and_globs_are_found_once_in_the_order_named(tmp_path):
  for name in ("b", "c", "a"):
    (tmp_path / name).touch()
  found = files.find_files(f"{tmp_path}/c, {tmp_path}/*")
  assert found == [f"{tmp_path}/{name}" for name in "cab"]
  for name in ("a[1]", "b*", "d\\e"):
    (tmp_path / name).touch()
    assert files.find_files(f"{tmp_path}/{name}") == [f"{tmp_path}/{name}"]
  none = f"{tmp_path}/none*"
  for patterns, message in ((" , ", "Received: ' , '"), (none, "/none")):
    with pytest.raises(ValueError, match=message):
      files.find_files(patterns)


def test_local_files_squad_and_scoring_do_not_load_tensorflow():
  code = (
    "import sys, bert_span.reporting.linter, bert_span.jobs.evaluate;"
    "assert 'tensorflow' not in sys.modules"
  )
  subprocess.run([sys.executable, "-c", code], check=True)
