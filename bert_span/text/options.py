"""How passages are cut into windows; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import CheckedOptions, option

# [CLS] question [SEP] window [SEP]; RoBERTa has one more separator.
NUM_SPECIAL_TOKENS = 3
MAX_WINDOW = 1_000_000  # WordPieces: memory is taken for them.


@dataclasses.dataclass(frozen=True)
class WindowOptions(CheckedOptions):
  """How passages are cut into windows; run_squad's names and defaults."""

  max_seq_length: int = option(
    384,
    "Length of a window in WordPieces, question and special tokens included.",
    minimum=NUM_SPECIAL_TOKENS + 1,
    maximum=MAX_WINDOW,
  )
  # Other libraries call the overlap "stride"; this is the step.
  doc_stride: int = option(
    128,
    "WordPieces from the start of one window to the start of the next.",
    minimum=1,
  )
  max_query_length: int = option(
    64,
    "WordPieces of the question that are kept; the rest is cut off.",
    minimum=0,
  )

  def __post_init__(self):
    super().__post_init__()
    if self.max_seq_length <= self.max_query_length + NUM_SPECIAL_TOKENS:
      raise ValueError(
        f"max_seq_length ({self.max_seq_length}) must be greater than "
        f"max_query_length ({self.max_query_length}) + {NUM_SPECIAL_TOKENS}, "
        "or a long question leaves no room for the passage. Change one of them."
      )
