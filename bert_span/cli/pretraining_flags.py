"""Flags that the programs of pre-training share."""

import dataclasses

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.options.fields import option
from bert_span.pretraining.options import MaskingOptions, TextLocation

flags.disclaim_key_flags()


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


def sequence_flags(*names):
  """Returns --max_seq_length and the flags of other `_SequenceOptions`."""
  return OptionFlags(_SequenceOptions, ["max_seq_length", *names])


def masking_flags():
  """Returns the flags of `MaskingOptions`."""
  options = OptionFlags(MaskingOptions)
  if "max_predictions_per_seq" not in flags.FLAGS:
    flags.DEFINE_alias("max_predictions_per_seq", "max_predictions")
  return options


def define_masked_text_flags(*names):
  """Defines the flags of `masked_text`."""
  model_flags.vocabulary_flags()
  OptionFlags(TextLocation)
  sequence_flags(*names)
  masking_flags()


def check_text_flags():
  """Checks that the text is named, and once."""
  values = OptionFlags(TextLocation)
  program.require_one(values.files, values.dataset)


def masking_options():
  """Returns the `MaskingOptions` of the flags, with max_predictions."""
  options = masking_flags().options()
  length = sequence_flags().max_seq_length.value
  # Without [CLS] and [SEP].
  most = options.max_predictions or options.budget(length - 2)
  if most > length:
    raise ValueError(
      f"--max_predictions={most} must be at most --max_seq_length={length}."
    )
  return dataclasses.replace(options, max_predictions=most)


def masked_text(*names):
  """Returns the arguments of `open_text` of the jobs, and `sequence_flags`."""
  vocabulary = model_flags.vocabulary_flags()
  check_text_flags()
  program.require(vocabulary.vocab_file)
  return {
    "text": OptionFlags(TextLocation).options(),
    **vocabulary.values(),
    "options": masking_options(),
    **sequence_flags(*names).values(),
  }
