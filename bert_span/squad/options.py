"""Files of questions as options; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import REQUIRED, CheckedOptions, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionsOptions(CheckedOptions):
  """The questions of a program."""

  predict_file: str = option(
    REQUIRED,
    "SQuAD file (JSON, Parquet) of the questions to answer or to score.",
    is_input=True,
  )
