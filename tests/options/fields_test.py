"""Rules of options, and options of a run compared with those of its start."""

import dataclasses

import numpy as np
import pytest

from bert_span.options.fields import (
  REQUIRED,
  CheckedOptions,
  check_same_options,
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
  ("name", "value", "rule"),
  [
    ("number", 0, "a whole number of at least 1 and of at most 9"),
    ("number", True, "a whole number"),
    ("number", 2.0, "a whole number"),
    ("share", 0.0, "a finite number above 0.0 and below 1.0"),
    ("share", "0.5", "a finite number"),
    ("anything", float("nan"), "a finite number"),
    ("is_on", 1, "True or False"),
    ("kind", "c", "one of a, b"),
    ("limit", -1, "None or a whole number of at least 0"),
  ],
)
def test_an_error_names_the_option_its_rule_and_the_value(name, value, rule):
  with pytest.raises(ValueError, match="must be") as error:
    _Options(**{"number": 1, name: value})
  message = str(error.value)
  assert message.startswith(f"{name} must be {rule}")
  assert message.endswith(f"Received: {value!r}")


def test_numbers_of_numpy_and_bounds_themselves_are_allowed():
  _Options(np.int64(9), share=np.float32(0.5), anything=10**400, limit=0)


def test_other_options_are_refused_with_file_and_change():
  saved = {"a": {"b": 1, "c": 2}, "d": 3}
  check_same_options("job.json", saved, saved)
  changes = (
    "a.c was 2, is now 5; d was 3, is now 'absent'; e was 'absent', is now 4"
  )
  with pytest.raises(ValueError, match=rf"job\.json.*{changes}"):
    check_same_options("job.json", saved, {"a": {"b": 1, "c": 5}, "e": 4})
