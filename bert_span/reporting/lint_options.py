"""Options of the checks by windows; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import CheckedOptions, option
from bert_span.text.options import WindowOptions


@dataclasses.dataclass(frozen=True)
class LintSettings(CheckedOptions):
  """The model, and the settings of training, that a file must suit."""

  window_options: WindowOptions
  preset: str | None = option(
    None,
    "Model to train from or to predict with: any --preset of run_squad, or a "
    "model directory. Gives vocabulary and window flags.",
  )
  vocab_file: str | None = None  # None for that of the preset
  do_lower_case: bool | None = None  # None for the preset's setting
  max_answer_length: int = option(
    30, "Length of the longest answer in WordPieces.", minimum=1
  )
