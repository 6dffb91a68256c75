"""Options and inputs of a run, compared with those of its start."""

import hashlib
import json

import pytest

from bert_span.storage.fingerprints import (
  check_same_options,
  differences,
  file_sha256,
)


def test_differences_name_nested_and_missing_options():
  saved = {"a": {"b": 1, "c": 2}, "d": 3}
  asked = {"a": {"b": 1, "c": 5}, "e": 4}
  assert differences(saved, asked) == [
    "a.c was 2, is now 5",
    "d was 3, is now 'absent'",
    "e was 'absent', is now 4",
  ]


def test_other_options_are_refused_with_file_and_change(tmp_path):
  path = tmp_path / "options.json"
  path.write_text(json.dumps({"seed": 1}))
  check_same_options(path, {"seed": 1})
  with pytest.raises(ValueError, match=r"options\.json.*seed was 1, is now 2"):
    check_same_options(path, {"seed": 2})


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[1]"])
def test_a_file_without_options_is_named(tmp_path, content):
  path = tmp_path / "options.json"
  path.write_bytes(content)
  with pytest.raises(ValueError, match=r"options\.json"):
    check_same_options(path, {})


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_file_is_hashed_in_blocks(tmp_path, prefix):
  content = bytes(range(256)) * 5000  # more than one block
  (tmp_path / "file").write_bytes(content)
  expected = hashlib.sha256(content).hexdigest()
  assert file_sha256(f"{prefix}{tmp_path}/file") == expected
