"""Flags that are made of option dataclasses."""

import pytest
from absl import flags
from programs import parse_flags

from bert_span.answers.decoding.options import DecoderOptions


def _decoder_flags(*arguments):
  """The decoding flags of ask; absl keeps the flags of one program."""
  parse_flags("bert_span.ask", *arguments)
  from bert_span.cli.option_flags import OptionFlags

  return OptionFlags(DecoderOptions)


def test_flags_become_options():
  given = _decoder_flags("--n_best_size=7", "--version_2_with_negative")
  assert given.options(temperature=2.0) == DecoderOptions(
    n_best_size=7, version_2_with_negative=True, temperature=2.0
  )


def test_a_flag_on_the_command_line_precedes_what_was_saved():
  given = _decoder_flags("--n_best_size=20")
  options = given.options({"n_best_size": 7, "max_answer_length": 3, "x": 1})
  assert (options.n_best_size, options.max_answer_length) == (20, 3)
  assert [holder.name for holder in given if holder.present] == ["n_best_size"]


@pytest.mark.parametrize(
  "flag",
  [
    "--n_best_size=0",
    "--n_best_size=2147483648",
    "--max_answer_length=2147483648",
    "--temperature=0",
    "--null_score_diff_threshold=nan",
    "--null_score_diff_threshold=-inf",
    "--span_score=x",
  ],
)
def test_the_bounds_of_the_option_are_those_of_the_flag(flag):
  with pytest.raises(flags.Error, match=flag[2:].split("=")[0]):
    _decoder_flags(flag)


def test_no_more_is_masked_than_a_sequence_has():
  parse_flags("bert_span.run_pretraining", "--max_predictions=1000000000")
  from bert_span.cli import pretraining_flags

  with pytest.raises(flags.Error, match="--max_predictions=1000000000"):
    pretraining_flags.masking_options()
