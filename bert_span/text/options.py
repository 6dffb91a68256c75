"""How passages are cut into windows; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import CheckedOptions, option

# [CLS] question [SEP] window [SEP]; RoBERTa has one more separator.
NUM_SPECIAL_TOKENS = 3
# The longest windows with run_squad's default step: BERT has no more positions.
_BERT_LENGTH = 512
_OVERLAP = 384 - 64 - 128  # by default, WordPieces, special tokens included
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
    "WordPieces from the start of one window to the start of the next. If it "
    "is not given and max_seq_length is over 512, it is max_seq_length - "
    "max_query_length - 192, at least 128, so that windows overlap as much as "
    "by default.",
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
    if self.max_seq_length > _BERT_LENGTH and not self.is_given("doc_stride"):
      step = self.max_seq_length - self.max_query_length - _OVERLAP
      # Frozen, as the dataclass is.
      object.__setattr__(self, "doc_stride", max(step, self.doc_stride))
