"""Rules of options, and options of a run compared with those of its start."""

import dataclasses
import re

import numpy as np
import pytest

from bert_span.options.fields import (
  FOREIGN,
  REQUIRED,
  CheckedOptions,
  changed,
  check_same_options,
  differences,
  flagfile_text,
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
  changes = differences(saved, {"a": {"b": 1, "c": 5}, "e": {"f": 4}})
  keys_and_values = [
    ("a.c", "2", "5"),
    ("d", "3", "'absent'"),
    ("e", "'absent'", "{'f': 4}"),
  ]
  for change, named in zip(changes, keys_and_values, strict=True):
    assert all(word in change for word in named)


def test_a_run_goes_on_with_its_own_options_only():
  options = {"format": 1, "a": 1}
  check_same_options("job.json", options, {"format": 1, "a": 1})
  with pytest.raises(ValueError, match=r"job\.json.*a was 1"):
    check_same_options("job.json", options, {"format": 1, "a": 2})
  for saved in ({"a": 1}, {"format": 2, "a": 1}):
    with pytest.raises(ValueError, match=r"job\.json.*format is .*output_dir"):
      check_same_options("job.json", saved, options)


@dataclasses.dataclass(frozen=True)
class _Part(CheckedOptions):
  size: int = option(4, "A size.", minimum=1)
  rate: float = option(0.5, "A rate.", flag="speed")


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Program(_Part):
  """Options of a program: a part, and relations."""

  size: int = changed(_Part, "size", default=6)
  model: str | None = option(None, "A model.", conflicts=("file", "fix"))
  file: str | None = option(None, "A file.")
  fix: bool = option(False, "A switch.", needs=("file",), conflicts=("lower",))
  lower: bool | None = option(None, "A switch.")
  folder: str = option("out", "A folder.", is_output=True)
  verify: bool = option(True, "A switch.", needs=("model",))
  step: int | None = option(8, "A step.", minimum=1)
  cores: int | None = option(None, "Cores.", flag_default=2)
  texts: tuple[str, ...] = option((), "Texts.", repeated=True)
  names: tuple[str, ...] = option((), "Names.")
  others: tuple[str, ...] = option((), "Others.", flag=FOREIGN)


@pytest.mark.parametrize(
  ("options", "named"),
  [
    ({"model": "m", "file": "f"}, ("model", "file")),
    ({"model": "m", "fix": True, "file": ""}, ("model", "fix")),
    ({"fix": True}, ("fix", "needs", "file")),
    ({"fix": True, "file": ""}, ("fix", "needs", "file")),
    ({"verify": False}, ("`verify`=False needs `model`",)),
    ({"folder": ""}, ("folder", "''")),
    ({"lower": False, "fix": True, "file": "f"}, ("`fix` or `lower`=False",)),
    ({"texts": "abc"}, ("texts", "'abc'")),
    ({"texts": ("a", " ")}, ("texts", "' '")),
    ({"size": 0}, ("size", "0")),
  ],
)
def test_relations_of_given_options_are_checked(options, named):
  with pytest.raises(ValueError, match=".*".join(named)):
    _Program(**options)


def test_what_is_off_empty_or_not_given_has_no_relations():
  _Program(model="m", file="", fix=False)
  _Program(file="f", fix=True)
  _Program(model="m", verify=False, cores=None)


def test_options_know_what_was_given_and_their_parts():
  options = _Program(rate=0.5, file="", fix=False, texts=("a",))
  assert options.given() == {"rate": 0.5, "fix": False, "texts": ("a",)}
  assert options.given(_Part) == {"rate": 0.5}
  assert _Part.of(options) == _Part(size=6, rate=0.5)
  assert _Part.of(options, rate=0.25) == _Part(6, 0.25)
  assert _Part(6).given() == {"size": 6}


def test_missing_options_are_named_together():
  @dataclasses.dataclass(frozen=True, kw_only=True)
  class Required(CheckedOptions):
    model: str = option(REQUIRED, "A model.")
    file: str = option(REQUIRED, "A file.")

  with pytest.raises(ValueError, match=r"`model` .*A model.*`file` .*A file"):
    Required(model="", file=None)


def test_a_flagfile_repeats_the_given_options():
  options = _Program(
    file="f",
    fix=True,
    step=None,
    rate=1e-5,
    texts=("a", "b,c"),
    names=("x", "y"),
  )
  assert flagfile_text(options).splitlines() == [
    "--file=f",
    "--fix",
    "--names=x,y",
    "--speed=1e-05",
    "--step=none",
    "--texts=a",
    "--texts=b,c",
    "# --cores=2",
    "# --folder=out",
    "# --size=6",
    "# --verify",
  ]
