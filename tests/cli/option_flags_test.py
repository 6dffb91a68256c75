"""Flags of option dataclasses: defined, checked and read."""

import dataclasses

import pytest
from absl import flags

from bert_span.cli.option_flags import define_flags, flags_of, read_flags
from bert_span.options.fields import CheckedOptions, option


@dataclasses.dataclass(frozen=True)
class _Options(CheckedOptions):
  size: int = option(4, "A size.", minimum=1, flag="t_size")
  names: tuple[str, ...] = option((), "Names.", flag="t_names")
  kind: str = option("a", "A kind.", choices=("a", "b"), flag="t_kind")
  share: float | None = option(None, "A share.", below=1.0, flag="t_share")
  is_on: bool = option(True, "A switch.", flag="t_on")
  inner: int = option(7, "Has no flag.", flag=False)


@dataclasses.dataclass(frozen=True)
class _OtherOptions:
  size: int = option(5, "The same flag.", flag="t_size")
  weight: float = option(0.5, "A weight.", flag="t_weight")


@pytest.fixture
def parse():
  """A function that parses a command line; removes the flags afterwards."""
  yield lambda *words: flags.FLAGS(["program", *words])
  flags.FLAGS.unparse_flags()
  for name in [name for name in flags.FLAGS if name.startswith("t_")]:
    delattr(flags.FLAGS, name)


def test_flags_have_the_defaults_of_the_options(parse):
  holders = define_flags(_Options)
  assert holders._fields == ("size", "names", "kind", "share", "is_on")
  parse()
  assert read_flags(_Options) == _Options()
  assert holders.size.value == 4


def test_flags_become_options_and_precede_what_was_saved(parse):
  define_flags(_Options)
  parse("--t_size=4", "--t_names=x,y", "--not_on")
  saved = {"size": 8, "kind": "b", "unknown": 1}
  assert read_flags(_Options, saved, inner=9) == _Options(
    size=4, names=("x", "y"), kind="b", is_on=False, inner=9
  )
  given = [flag.name for flag in flags_of(_Options) if flag.present]
  assert given == ["t_size", "t_names", "t_on"]


def test_some_options_get_flags_with_other_defaults(parse):
  share, size = define_flags(_Options, "share", "size", size=3)
  parse("--t_share=0.25")
  assert (share.value, size.value) == (0.25, 3)
  assert "t_kind" not in flags.FLAGS


def test_two_dataclasses_share_a_flag(parse):
  define_flags(_Options)
  assert define_flags(_OtherOptions).size.name == "t_size"
  parse("--t_size=6")
  assert read_flags(_Options).size == read_flags(_OtherOptions).size == 6


@pytest.mark.parametrize(
  "word", ["t_size=0", "t_size=x", "t_kind=c", "t_share=1.0", "t_share=nan"]
)
def test_flags_have_the_bounds_of_the_options(parse, word):
  define_flags(_Options)
  with pytest.raises(flags.Error, match=word.partition("=")[0]):
    parse(f"--{word}")
