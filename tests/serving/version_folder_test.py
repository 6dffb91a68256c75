"""Numbered folders of versions, each whole or absent."""

import concurrent.futures
import os
import re
import threading

import pytest

from bert_span.serving import version_folder


def _fill(target):
  os.mkdir(os.path.join(target.directory, "variables"))
  with open(os.path.join(target.directory, "saved_model.pb"), "w") as file:
    file.write("graph")


def test_versions_count_up_from_the_highest(tmp_path):
  base = tmp_path / "base"
  for expected, found in (("1", "notes"), ("2", "040"), ("41", "x")):
    with version_folder.new_version(base) as target:
      _fill(target)
    assert target.path == str(base / expected)
    (base / found).mkdir()


def test_no_number_is_seen_before_the_version_is_whole(tmp_path):
  with (
    pytest.raises(RuntimeError),
    version_folder.new_version(tmp_path) as target,
  ):
    _fill(target)
    raise RuntimeError
  assert os.listdir(tmp_path) == []
  with version_folder.new_version(tmp_path, 7) as target:
    assert not [name for name in os.listdir(tmp_path) if name[0].isdigit()]
    _fill(target)
  assert os.listdir(tmp_path) == ["7"]
  assert (tmp_path / "7" / "saved_model.pb").is_file()


def test_versions_that_cannot_be_made_are_refused(tmp_path):
  (tmp_path / "007").mkdir()
  with pytest.raises(ValueError, match=r"version.*7"):
    version_folder.check_version(tmp_path, 7)
  version_folder.check_version(tmp_path, 8)
  version_folder.check_version(tmp_path / "new", 7)
  for version in (0, -1, 2**63):
    with pytest.raises(ValueError, match=rf"version.* {version}\."):
      version_folder.check_version(tmp_path, version)
  (tmp_path / str(2**63 - 1)).mkdir()
  with pytest.raises(ValueError, match=str(2**63 - 1)):
    version_folder.check_version(tmp_path)
  version_folder.check_version(tmp_path, 1)
  (tmp_path / "file").touch()
  for base in (str(tmp_path / "file"), "gs://bucket/base", "a[1]/b", "a\\b"):
    with pytest.raises(ValueError, match=re.escape(base)):
      version_folder.check_version(base)


def test_a_version_that_appears_meanwhile_is_kept(tmp_path):
  with (
    pytest.raises(ValueError, match=r"version.*7"),
    version_folder.new_version(tmp_path, 7) as target,
  ):
    _fill(target)
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "theirs").touch()
  assert os.listdir(tmp_path) == ["7"]
  assert os.listdir(tmp_path / "7") == ["theirs"]


def test_exports_at_the_same_time_get_versions_of_their_own(tmp_path):
  """What a killed one has left is removed; the others hold a lock."""
  (tmp_path / f".unfinished.{'0' * 32}.tmp" / "variables").mkdir(parents=True)
  paths = []
  together = threading.Barrier(4)

  def export():
    with version_folder.new_version(tmp_path) as target:
      _fill(target)
      together.wait()
    paths.append(target.path)

  with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for _ in range(4):
      pool.submit(export)
  assert sorted(paths) == [str(tmp_path / str(i)) for i in (1, 2, 3, 4)]
  assert sorted(os.listdir(tmp_path)) == ["1", "2", "3", "4"]
