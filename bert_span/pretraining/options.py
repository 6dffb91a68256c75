"""Which text is read, masked and trained on; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import REQUIRED, CheckedOptions, changed, option
from bert_span.presets.encoder_source import EncoderSource
from bert_span.training.options import TrainOptions

# Share of the WordPieces to mask, as published.
_MASKED_PERCENT = 15


@dataclasses.dataclass(frozen=True)
class TextLocation(CheckedOptions):
  """Text files, or a data set of TensorFlow Datasets."""

  input_file: str | None = option(
    None,
    "Text files, as paths and globs separated by commas; .gz is decompressed.",
    is_input=True,
    conflicts=("dataset",),
  )
  input_form: str = option(
    "sentences",
    "Whether a line is a sentence, with a blank line between documents, or a "
    "whole document.",
    choices=("sentences", "documents"),
  )
  text_field: str | None = option(
    None,
    "Key of the text where the lines of input_file are JSON objects, each a "
    "document; with `dataset` the feature that holds the text.",
  )
  dataset: str | None = option(
    None, "Prepared data set of TensorFlow Datasets, instead of input_file."
  )
  dataset_split: str = option("train", "Split of `dataset`.")
  data_dir: str | None = option(
    None, "Folder of TensorFlow Datasets, for `dataset`."
  )


@dataclasses.dataclass(frozen=True)
class MaskingOptions(CheckedOptions):
  """What is masked, and how much of it."""

  masking: str = option(
    "span",
    "What is masked: spans of whole words, single whole words, or single "
    "WordPieces as in BERT.",
    choices=("span", "word", "subword"),
  )
  max_predictions: int | None = option(
    None,
    "Most masked WordPieces in a sequence; by default 15 % of max_seq_length.",
    minimum=1,
    alias="max_predictions_per_seq",
  )
  # The masks are a function of it, the epoch and the sequence's number.
  seed: int = option(
    12345,
    "Seed of the masks, of the order of the text and, in training, of new "
    "weights and dropout.",
    minimum=0,
  )

  def budget(self, num_tokens):
    """Returns how many tokens are masked, of all but [CLS] and [SEP].

    Example: 15 % of 13 tokens are ceil(13 * 15 / 100) = 2.
    """
    budget = -(-num_tokens * _MASKED_PERCENT // 100)
    return min(budget, self.max_predictions or budget)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceOptions(MaskingOptions):
  """Masked sequences of one length."""

  max_seq_length: int = option(
    128,
    "Length of a sequence in WordPieces, [CLS] and [SEP] included.",
    minimum=3,
    maximum=1_000_000,
  )

  def __post_init__(self):
    super().__post_init__()
    most = self.masking_options().max_predictions
    if most > self.max_seq_length:
      raise ValueError(
        f"max_predictions={most} must be at most "
        f"max_seq_length={self.max_seq_length}."
      )

  def masking_options(self):
    """Returns the `MaskingOptions`, with max_predictions."""
    # Without [CLS] and [SEP].
    most = self.max_predictions or self.budget(self.max_seq_length - 2)
    return MaskingOptions.of(self, max_predictions=most)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MaskedTextOptions(TextLocation, SequenceOptions):
  """Text to mask, and the vocabulary of its WordPieces."""

  vocab_file: str = changed(EncoderSource, "vocab_file", default=REQUIRED)
  do_lower_case: bool = changed(
    EncoderSource, "do_lower_case", default=True, flag_default=None
  )

  def __post_init__(self):
    super().__post_init__()
    check_text_location(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CopiesOptions(CheckedOptions):
  """How often text is masked."""

  dupe_factor: int = option(
    10, "Number of copies of the text, each masked anew.", minimum=1
  )


def check_text_location(location):
  """Raises ValueError unless a `TextLocation` names a text."""
  if not (location.input_file or location.dataset):
    raise ValueError("Give either `input_file` or `dataset`.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingOptions(TrainOptions):
  """How an encoder is pre-trained; the original run_pretraining's defaults."""

  num_train_steps: int = option(
    100_000, "Updates of the weights in the whole run.", minimum=1
  )
  num_warmup_steps: int = option(
    10_000, "Steps in which the learning rate rises.", minimum=0
  )
  span_boundary: bool = option(
    True, "Whether the span boundary objective is trained.", flag="sbo"
  )
  sbo_weight: float = option(
    1.0,
    "Weight of the loss of the span boundary objective; that of the masked "
    "language model has weight 1.",
    minimum=0.0,
  )
  weight_decay: float = option(
    0.01,
    "Share of a weight that is subtracted at learning rate 1; biases and "
    "LayerNorm have no weight decay.",
    minimum=0.0,
    below=1.0,
  )
  adam_epsilon: float = option(
    1e-6, "Number that Adam adds to the root of its second average.", above=0.0
  )
