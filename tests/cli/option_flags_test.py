"""Flags that are made of option dataclasses."""

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
