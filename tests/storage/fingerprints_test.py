"""Comparing the options of a run with those it was begun with."""

import json

import pytest

from bert_span.storage.fingerprints import check_same_options, differences


def test_differences_name_nested_and_missing_options():
  saved = {"a": {"b": 1, "c": 2}, "d": 3}
  asked = {"a": {"b": 1, "c": 5}, "e": 4}
  assert differences(saved, asked) == [
    "a.c was 2, is now 5",
    "d was 3, is now 'absent'",
    "e was 'absent', is now 4",
  ]


def test_other_options_are_refused_with_file_and_change():
  saved = json.dumps({"seed": 1}).encode()
  check_same_options(saved, {"seed": 1}, "out/options.json")
  with pytest.raises(
    ValueError, match=r"out/options\.json.*seed was 1, is now 2"
  ):
    check_same_options(saved, {"seed": 2}, "out/options.json")


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[1]"])
def test_a_file_without_options_is_named(content):
  with pytest.raises(ValueError, match=r"out/options\.json"):
    check_same_options(content, {}, "out/options.json")
