"""Files of questions as options; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import REQUIRED, CheckedOptions, option

SHORT, FULL = PROOFS = ("short", "full")


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuestionsOptions(CheckedOptions):
  """The questions of a program."""

  predict_file: str = option(
    REQUIRED,
    "SQuAD file (JSON, Parquet) of the questions to answer or to score.",
    is_input=True,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProofOptions(CheckedOptions):
  """How thoroughly what was exported is compared with its model."""

  proof: str = option(
    SHORT,
    "How many sample questions the result is compared with the model on: some "
    "20 windows, or some 220.",
    choices=PROOFS,
  )
