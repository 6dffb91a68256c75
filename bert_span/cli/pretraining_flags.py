"""Flags that the programs of pre-training share."""

import dataclasses

from absl import flags

from bert_span.cli import program
from bert_span.cli.model_flags import define_vocabulary_flags
from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.options.fields import option
from bert_span.pretraining.options import MaskingOptions, TextLocation

flags.disclaim_key_flags()


@dataclasses.dataclass(frozen=True)
class _SharedOptions:
  max_seq_length: int = option(
    128,
    "Length of a sequence in WordPieces, [CLS] and [SEP] included.",
    minimum=3,
    maximum=1_000_000,
  )
  dupe_factor: int = option(
    10, "Number of copies of the text, each masked anew.", minimum=1
  )
  num_workers: int = option(
    1, "Number of processes that share the input files.", minimum=1
  )
  worker: int = option(
    0, "Number of this process among --num_workers, from 0.", minimum=0
  )


def define_masked_text_flags(*names):
  """Defines the flags of `masked_text`; returns those of the options above."""
  define_vocabulary_flags()
  define_flags(TextLocation)
  define_flags(MaskingOptions)
  flags.DEFINE_alias("max_predictions_per_seq", "max_predictions")
  return define_flags(_SharedOptions, "max_seq_length", *names)


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
