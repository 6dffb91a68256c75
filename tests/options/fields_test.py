"""Rules of options, and options of a run compared with those of its start."""

import dataclasses
import re

import numpy as np
import pytest

from bert_span.options.fields import (
  REQUIRED,
  CheckedOptions,
  check_same_options,
  differences,
  option,
)


@dataclasses.dataclass(frozen=True)
class _Options(CheckedOptions):
  number: int = option(REQUIRED, "A count.", minimum=1, maximum=9)
  share: float = option(0.5, "A share.", above=0.0, below=1.0)
  anything: float = option(0.0, "A number.")
  is_on: bool = option(False, "A switch.")
  kind: str = option("a", "A choice.", choices=("a", "b"))
  limit: int | None = option(None, "A limit.", minimum=0)
  plain: object = None


@pytest.mark.parametrize(
  ("name", "value", "bounds"),
  [
    ("number", 0, ("1", "9")),
    ("number", True, ("1", "9")),
    ("number", 2.0, ("1", "9")),
    ("share", 0.0, ("0.0", "1.0")),
    ("share", "0.5", ("0.0", "1.0")),
    ("anything", float("nan"), ()),
    ("is_on", 1, ("True", "False")),
    ("kind", "c", ("a", "b")),
    ("limit", -1, ("None", "0")),
  ],
)
def test_an_error_names_the_option_its_bounds_and_the_value(
  name, value, bounds
):
  with pytest.raises(ValueError, match=f"^{name} ") as error:
    _Options(**{"number": 1, name: value})
  rule, _, received = str(error.value).rpartition(":")
  assert received.strip() == repr(value)
  for bound in bounds:
    assert re.search(rf"\b{bound}\b", rule)


def test_numbers_of_numpy_and_bounds_themselves_are_allowed():
  _Options(np.int64(9), share=np.float32(0.5), anything=10**400, limit=0)


def test_options_of_a_run_that_changed_are_listed_with_both_values():
  saved = {"a": {"b": 1, "c": 2}, "d": 3}
  changes = differences(saved, {"a": {"b": 1, "c": 5}, "e": 4})
  keys_and_values = [
    ("a.c", "2", "5"),
    ("d", "3", "'absent'"),
    ("e", "'absent'", "4"),
  ]
  for change, named in zip(changes, keys_and_values, strict=True):
    assert all(word in change for word in named)


def test_a_run_goes_on_with_its_own_options_only():
  options = {"format": 1, "a": 1}
  check_same_options("job.json", options, {"format": 1, "a": 1})
  with pytest.raises(ValueError, match=r"job\.json.*a was 1"):
    check_same_options("job.json", options, {"format": 1, "a": 2})
  for saved in ({"a": 1}, {"format": 2, "a": 1}):
    with pytest.raises(
      ValueError, match=r"job\.json.*format is .*--output_dir"
    ):
      check_same_options("job.json", saved, options)
