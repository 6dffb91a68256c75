"""Flags that the programs of pre-training share."""

import dataclasses

from absl import flags

from bert_span.cli import program
from bert_span.cli.model_flags import define_vocabulary_flags
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.options.fields import INT32_MAX
from bert_span.pretraining.options import MaskingOptions, TextLocation

flags.disclaim_key_flags()


def define_length_flag():
  """Defines --max_seq_length."""
  return flags.DEFINE_integer(
    "max_seq_length",
    128,
    "Length of a sequence in WordPieces, [CLS] and [SEP] included.",
    lower_bound=3,
    upper_bound=1_000_000,
  )


def define_copies_flag():
  """Defines --dupe_factor."""
  return flags.DEFINE_integer(
    "dupe_factor",
    10,
    "Number of copies of the text, each masked anew.",
    lower_bound=1,
    upper_bound=INT32_MAX,
  )


def define_masking_flags():
  """Defines the flags of `MaskingOptions`."""
  holders = define_flags(MaskingOptions)
  flags.DEFINE_alias("max_predictions_per_seq", "max_predictions")
  return holders


def define_masked_text_flags():
  """Defines the flags of `masked_text`."""
  define_vocabulary_flags()
  define_flags(TextLocation)
  define_length_flag()
  define_masking_flags()


def check_text_flags():
  """Checks that the text is named, and once."""
  program.require_one(flags.FLAGS["input_file"], flags.FLAGS["dataset"])


def masking_options():
  """Returns the `MaskingOptions` of the flags, with max_predictions."""
  options = read_flags(MaskingOptions)
  length = flags.FLAGS.max_seq_length
  # Without [CLS] and [SEP].
  most = options.max_predictions or options.budget(length - 2)
  if most > length:
    raise ValueError(
      f"--max_predictions={most} must be at most --max_seq_length={length}."
    )
  return dataclasses.replace(options, max_predictions=most)


def masked_text():
  """Returns the arguments of `open_text` of the jobs."""
  check_text_flags()
  program.require(flags.FLAGS["vocab_file"])
  return {
    "text": read_flags(TextLocation),
    "vocab_file": flags.FLAGS.vocab_file,
    "do_lower_case": flags.FLAGS.do_lower_case,
    "max_seq_length": flags.FLAGS.max_seq_length,
    "options": masking_options(),
  }
