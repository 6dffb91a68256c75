"""Flags that the programs of pre-training share.

As in model_flags.py, a group is defined when a program asks for it.
"""

import functools
import types

from absl import flags

from bert_span.cli import program
from bert_span.pretraining.masking.span_masking import MaskingOptions


@functools.cache
def text_flags():
  """--input_file and how its text is read."""
  return types.SimpleNamespace(
    input_file=flags.DEFINE_string(
      "input_file",
      None,
      "Text files, as paths and globs separated by commas; .gz is "
      "decompressed.",
    ),
    input_form=flags.DEFINE_enum(
      "input_form",
      "sentences",
      ["sentences", "documents"],
      "Whether a line is a sentence, with a blank line between documents, or "
      "a whole document.",
    ),
    text_field=flags.DEFINE_string(
      "text_field",
      None,
      "Key of the text where the lines of --input_file are JSON objects, each "
      "a document; with --dataset the feature that holds it.",
    ),
    dataset=flags.DEFINE_string(
      "dataset",
      None,
      "Prepared data set of TensorFlow Datasets, instead of --input_file.",
    ),
    dataset_split=flags.DEFINE_string(
      "dataset_split", "train", "Split of --dataset."
    ),
    data_dir=flags.DEFINE_string(
      "data_dir", None, "Folder of TensorFlow Datasets, for --dataset."
    ),
  )


def check_text_flags():
  """Refuses text flags that do not fit together."""
  values = text_flags()
  program.check(
    bool(values.input_file.value) != bool(values.dataset.value),
    "Give the text as --input_file or as --dataset, one of the two.",
  )


def text_location(files=None):
  """Where the text is that the flags name.

  Args:
    files: paths and globs instead of --input_file and --dataset.

  Returns:
    `TextLocation`.
  """
  from bert_span.pretraining.corpus.text_location import TextLocation

  values = text_flags()
  return TextLocation(
    files or values.input_file.value,
    values.input_form.value,
    values.text_field.value,
    None if files else values.dataset.value,
    values.dataset_split.value,
    values.data_dir.value,
  )


@functools.cache
def masking_flags():
  """--max_seq_length, --masking, --max_predictions, --seed."""
  return types.SimpleNamespace(
    max_seq_length=flags.DEFINE_integer(
      "max_seq_length",
      128,
      "Length of a sequence in WordPieces, [CLS] and [SEP] included.",
      lower_bound=3,
    ),
    masking=flags.DEFINE_enum(
      "masking",
      "span",
      ["span", "word", "subword"],
      "What is masked: spans of whole words, whole words, or single "
      "WordPieces as BERT.",
    ),
    max_predictions=flags.DEFINE_integer(
      "max_predictions",
      None,
      "Masked WordPieces in a sequence, at most; none is 15 % of "
      "--max_seq_length.",
      lower_bound=1,
    ),
    max_predictions_alias=flags.DEFINE_alias(
      "max_predictions_per_seq", "max_predictions"
    ),
    seed=flags.DEFINE_integer(
      "seed",
      12345,
      "Seed of the masks, of the order of the text and, in training, of new "
      "weights and dropout.",
      lower_bound=0,
      upper_bound=2**31 - 1,
    ),
  )


def masking_options():
  """The MaskingOptions that the flags ask for, with max_predictions."""
  values = masking_flags()
  options = MaskingOptions(masking=values.masking.value, seed=values.seed.value)
  most = options.budget(values.max_seq_length.value - 2)
  return MaskingOptions(
    masking=values.masking.value,
    seed=values.seed.value,
    max_predictions=values.max_predictions.value or most,
  )
