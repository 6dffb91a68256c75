"""What a file is checked for; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import CheckedOptions, option
from bert_span.text.options import WindowOptions


@dataclasses.dataclass(frozen=True)
class LintSettings(CheckedOptions):
  """The model and the settings of training that a file is checked for."""

  window_options: WindowOptions
  preset: str | None = option(
    None,
    "Model to train from or to predict with: any --preset of run_squad, or a "
    "model directory. Gives vocabulary, sizes and window flags.",
  )
  vocab_file: str | None = None  # None for that of the preset
  do_lower_case: bool | None = None  # None for the preset's setting
  max_answer_length: int = option(
    30, "Length of the longest answer in WordPieces.", minimum=1
  )
  length_bucket: int = option(
    32,
    "Batches are padded to a multiple of this many WordPieces, as in "
    "run_squad.",
    minimum=1,
    flag="length_buckets",
  )
  hidden_size: int = option(
    768, "Hidden size of the encoder; a preset has its own.", minimum=1
  )
  # WordPieces that the encoder reads at most; a preset has its own. No longer
  # max_seq_length is compared with the chosen one.
  max_positions: int = 512
