"""Model directories: checksums, names of files, full disks."""

import json
import os
import pathlib
import shutil

import pytest

from bert_span.presets.load_pretrained import load_pretrained
from bert_span.presets.model_directory import check_folder_name
from tests.support.models import shared_model, tiny_extractor
from tests.support.programs import run_python


@pytest.fixture
def copy(tmp_path):
  """A copy of a model directory, for a test to change."""
  return pathlib.Path(shutil.copytree(shared_model(), tmp_path / "copy"))


def test_changed_files_are_refused_unless_not_verified(copy):
  load_pretrained(copy)
  checksums = json.loads((copy / "checksums.json").read_text())
  assert set(checksums) == {
    *("config.json", "model.weights.h5", "tokenizer.json"),
    *("assets/tokenizer/vocabulary.txt", "task.weights.h5"),
  }
  for name in checksums:
    path = copy / name
    before = path.read_bytes()
    path.write_bytes(before + b"\n")
    with pytest.raises(ValueError, match=f"{name}.*checksums"):
      load_pretrained(copy)
    if name == "config.json":
      load_pretrained(copy, verify=False)
    path.write_bytes(before)
  (copy / "task.weights.h5").unlink()
  with pytest.raises(ValueError, match=r"task\.weights.*checksums"):
    load_pretrained(copy)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../b", "a\0"])
def test_checksums_name_files_of_the_model_only(copy, name):
  (copy / "checksums.json").write_text(json.dumps({name: "0f"}))
  with pytest.raises(ValueError, match=r"checksums\.json names"):
    load_pretrained(copy)


def test_others_may_read_every_file_where_the_umask_lets_them(tmp_path):
  before = os.umask(0o022)
  try:
    tiny_extractor().save_to_preset(tmp_path / "model")
  finally:
    os.umask(before)
  files = [path for path in tmp_path.rglob("*") if path.is_file()]
  assert {path.stat().st_mode & 0o777 for path in files} == {0o644}


@pytest.mark.parametrize(
  ("name", "remedy"),
  [
    ("qa.keras", r"extractor\.save,"),
    ("dir/qa.TFLITE", r"extractor\.export"),
    ("qa.onnx", "ONNX"),
    ("qa.weights.h5/", r"extractor\.save_weights"),
  ],
)
def test_a_folder_with_the_name_of_a_file_is_refused(name, remedy):
  with pytest.raises(ValueError, match=f"{name} .*{remedy}"):
    check_folder_name(name)
  check_folder_name("models/qa.v2")


_WRITERS = {
  "model": "extractor.save_to_preset(path)",
  "half": "extractor.save_to_preset(path, half_precision=True)",
  "file.keras": "extractor.save(path)",
  "file.weights.h5": "extractor.save_weights(path)",
  "huggingface": "save_huggingface(extractor, path)",
}
_FULL = """
import errno, os, resource, sys
from tests.support.models import tiny_extractor
from bert_span.presets.huggingface_writer import save_huggingface
extractor = tiny_extractor(num_layers=2)
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
for path, write in {writers!r}.items():
  code = compile(write, path, "eval")
  eval(code)
  before = os.path.getsize(path)
  # The weights' file begins, and ends after the limit.
  for size in (1, 2000, 4096, 10_000, 20_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
      eval(code)
    except OSError as error:
      assert error.errno == errno.EFBIG, error
      assert error.filename, error
    else:
      raise AssertionError((path, size))
    finally:
      resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
  assert os.path.getsize(path) == before
  eval(code)
assert sorted(os.listdir()) == sorted({writers!r}), os.listdir()
"""


@pytest.mark.large
def test_a_file_beyond_a_limit_is_an_error_that_leaves_the_old_one(
  tmp_path, repository
):
  # In its own process, which the HDF5 library would end.
  ended = run_python(
    "-c",
    _FULL.format(writers=_WRITERS),
    cwd=tmp_path,
    env={**os.environ, "PYTHONPATH": str(repository)},
  )
  assert ended.returncode == 0, ended.stderr[-2000:]
