"""Flags that the programs of pre-training share."""

import dataclasses
import functools
import types

from absl import flags

from bert_span.cli import program
from bert_span.cli.option_flags import OptionFlags
from bert_span.pretraining.options import (
  MaskingOptions,
  PretrainingOptions,
  TextLocation,
)

flags.disclaim_key_flags()


@functools.cache
def text_flags():
  """Returns --input_file, --dataset and how their text is read."""
  return OptionFlags(TextLocation)


def check_text_flags():
  """Checks that the text is named, and once."""
  values = text_flags()
  program.require_one(values.files, values.dataset)


@functools.cache
def dupe_factor_flag():
  """Returns --dupe_factor."""
  return flags.DEFINE_integer(
    "dupe_factor",
    10,
    "Number of copies of the text, each masked anew.",
    lower_bound=1,
  )


@functools.cache
def masking_flags():
  """Returns --max_seq_length and the flags of `MaskingOptions`."""
  max_seq_length = flags.DEFINE_integer(
    "max_seq_length",
    128,
    "Length of a sequence in WordPieces, [CLS] and [SEP] included.",
    lower_bound=3,
  )
  options = OptionFlags(MaskingOptions)
  flags.DEFINE_alias("max_predictions_per_seq", "max_predictions")
  return types.SimpleNamespace(max_seq_length=max_seq_length, options=options)


def masking_options():
  """Returns the `MaskingOptions` of the flags, with max_predictions."""
  values = masking_flags()
  options = values.options.options()
  # Without [CLS] and [SEP].
  budget = options.budget(values.max_seq_length.value - 2)
  return dataclasses.replace(
    options, max_predictions=options.max_predictions or budget
  )


@functools.cache
def training_flags():
  """Returns the flags of `PretrainingOptions`; --seed is also the masks'."""
  masking_flags()
  return OptionFlags(PretrainingOptions)
