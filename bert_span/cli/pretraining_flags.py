"""Flags that the programs of pre-training share."""

import dataclasses

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.pretraining.options import (
  MaskingOptions,
  TextLocation,
)
from bert_span.storage.options import option

flags.disclaim_key_flags()


@dataclasses.dataclass(frozen=True)
class _SequenceOptions:
  max_seq_length: int = option(
    128,
    "Length of a sequence in WordPieces, [CLS] and [SEP] included.",
    minimum=3,
    maximum=1_000_000,
  )
  dupe_factor: int = option(
    10, "Number of copies of the text, each masked anew.", minimum=1
  )


def check_text_flags():
  """Checks that the text is named, and once."""
  values = OptionFlags(TextLocation)
  program.require_one(values.files, values.dataset)


def dupe_factor_flag():
  """Returns --dupe_factor."""
  (holder,) = OptionFlags(_SequenceOptions, ["dupe_factor"])
  return holder


def max_seq_length_flag():
  """Returns --max_seq_length."""
  (holder,) = OptionFlags(_SequenceOptions, ["max_seq_length"])
  return holder


def masking_flags():
  """Returns the flags of `MaskingOptions`."""
  options = OptionFlags(MaskingOptions)
  if "max_predictions_per_seq" not in flags.FLAGS:
    flags.DEFINE_alias("max_predictions_per_seq", "max_predictions")
  return options


def masking_options():
  """Returns the `MaskingOptions` of the flags, with max_predictions."""
  options = masking_flags().options()
  length = max_seq_length_flag().value
  program.check(
    (options.max_predictions or 0) <= length,
    f"--max_predictions={options.max_predictions} is more than "
    f"--max_seq_length={length}. Lower it.",
  )
  # Without [CLS] and [SEP].
  budget = options.budget(length - 2)
  return dataclasses.replace(
    options, max_predictions=options.max_predictions or budget
  )


def define_masked_text_flags():
  """Defines the flags of a text, its vocabulary and its masks."""
  model_flags.vocabulary_flags()
  OptionFlags(TextLocation)
  max_seq_length_flag()
  masking_flags()


def masked_text():
  """Returns a dict of text, vocabulary and masks, as jobs take it."""
  vocabulary = model_flags.vocabulary_flags()
  check_text_flags()
  program.require(vocabulary.vocab_file)
  return {
    "text": OptionFlags(TextLocation).options(),
    **vocabulary.values(),
    "max_seq_length": max_seq_length_flag().value,
    "options": masking_options(),
  }
