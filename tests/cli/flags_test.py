"""Flags of option dataclasses: defined, checked and read; names in messages."""

import dataclasses

import pytest
from absl import flags

from bert_span.cli.flags import define_flags, read_flags, with_flags
from bert_span.options.fields import (
  FOREIGN,
  REQUIRED,
  WORD,
  CheckedOptions,
  option,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Options(CheckedOptions):
  size: int = option(4, "A size.", minimum=1, flag="t_size", alias="t_sizes")
  names: tuple[str, ...] = option((), "Names.", flag="t_names")
  said: tuple[str, ...] = option((), "Texts.", flag="t_said", repeated=True)
  kind: str = option("a", "A kind.", choices=("a", "b"), flag="t_kind")
  share: float | None = option(None, "A share.", below=1.0, flag="t_share")
  step: int | None = option(32, "A step.", minimum=1, flag="t_step")
  is_on: bool = option(True, "As t_size.", flag="t_on")
  lower: bool | None = option(
    None, "Follows.", flag_default=True, flag="t_lower"
  )
  inner: int = option(7, "Has no flag.", flag=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Words(CheckedOptions):
  t_path: str = option(REQUIRED, "A file to check.", flag=WORD)
  t_must: str = option(REQUIRED, "A place for it.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Foreign(CheckedOptions):
  others: tuple[str, ...] = option((), "Another's flags.", flag=FOREIGN)


@pytest.fixture
def read():
  """A function that reads options of a command line; removes their flags."""
  names = []

  def read_words(options_type, *words):
    names.extend(define_flags(options_type))
    flags.FLAGS.unparse_flags()
    _, *rest = flags.FLAGS(["program", *words], known_only=True)
    return read_flags(options_type, rest)

  yield read_words
  flags.FLAGS.unparse_flags()
  for name in names:
    delattr(flags.FLAGS, name)


def test_options_that_are_not_given_have_their_own_defaults(read):
  options = read(_Options)
  assert options == _Options()
  assert options.given() == {}
  # What --help shows, as the option follows from something else.
  assert flags.FLAGS["t_lower"].default is True and options.lower is None


def test_given_flags_become_options(read):
  words = ("--t_names=x,y", "--t_said=a,b", "--t_said=c", "--not_on")
  options = read(_Options, "--t_size=4", "--t_step=none", *words)
  assert options == _Options(
    names=("x", "y"), said=("a,b", "c"), step=None, is_on=False
  )
  assert [*options.given()] == ["size", "names", "said", "is_on"]


def test_an_alias_is_the_flag(read):
  assert read(_Options, "--t_sizes=9").given() == {"size": 9}


@pytest.mark.parametrize(
  "word",
  [
    *("t_size=0", "t_size=x", "t_kind=c", "t_share=1.0", "t_share=nan"),
    *("t_step=0", "t_step=x", f"t_step={10**21}"),
  ],
)
def test_flags_have_the_bounds_of_the_options(read, word):
  with pytest.raises(flags.Error, match=word.partition("=")[0]):
    read(_Options, f"--{word}")


def test_words_are_options_too_and_all_that_is_missing_is_named(read):
  assert read(_Words, "a.json", "--t_must=b").t_path == "a.json"


@pytest.mark.parametrize(
  ("words", "named"),
  [
    (["--t_must="], r"`t_path` .*A file to check.*`t_must` .*A place for it"),
    (["a.json"], "`t_must` is required"),
    (["a.json", "b.json", "--t_must=c"], "unknown arguments b.json"),
  ],
)
def test_missing_and_superfluous_words_are_named(read, words, named):
  with pytest.raises(ValueError, match=named):
    read(_Words, *words)


def test_flags_of_others_are_left_to_them(read):
  assert read(_Foreign, "--runner=x", "word").others == ("--runner=x", "word")


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Named(CheckedOptions):
  head: str = option("a", "A head.")
  n_best: int = option(1, "A number.", flag="best")
  n_best_size: int = option(1, "A size.")
  web: bool = option(False, "A switch.")
  lower_case: bool | None = option(None, "A switch.", flag="lower")


@pytest.mark.parametrize(
  ("message", "shown"),
  [
    ("n_best=3 is above n_best_size=2.", "--best=3 is above --n_best_size=2."),
    ("the head `head` and `other`", "the head --head and `other`"),
    ("a head=bio; head: head", "a --head=bio; head: head"),
    ("head must be a. Received: head", "--head must be a. Received: head"),
    ("head=False", "--head=False"),
    ("`web`=False needs `web`.", "--noweb needs --web."),
    ("Give web=True or lower_case.", "Give --web or --lower."),
    ("lower_case=true, lower_case=false.", "--lower, --nolower."),
    ("a lower_case=False or web=Falsehood", "a --nolower or --web=Falsehood"),
    ("/tmp/n_best/x.n_best.json n_best_", "/tmp/n_best/x.n_best.json n_best_"),
    (
      "x.json: n_best must be 1, see n_best.",
      "x.json: n_best must be 1, see --best.",
    ),
  ],
)
def test_a_message_gets_the_flags_of_the_options_it_names(message, shown):
  assert with_flags(message, _Named) == shown
