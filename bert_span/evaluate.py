r"""Scores a prediction file with the official SQuAD 1.1 or 2.0 metrics.

    python -m bert_span.evaluate --predict_file=dev.json \
      --predictions_file=predictions.json [--na_prob_file=null_odds.json]

Languages without blanks, such as Chinese, are scored with --characters. With
--multi_span the metrics are those of MultiSpanQA, for sets of spans:

    python -m bert_span.evaluate --multi_span --predict_file=dev.json \
      --predictions_file=span_predictions.json

Standard output gets the official scores as JSON, standard error as a table.
"""

import dataclasses

from bert_span.cli.program import program
from bert_span.options.fields import REQUIRED, option
from bert_span.squad.options import QuestionsOptions
from bert_span.storage.options import FileOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateOptions(QuestionsOptions, FileOptions):
  """The options of `bert_span.jobs.evaluate.evaluate`."""

  predictions_file: str = option(
    REQUIRED,
    'JSON file with the predicted text by question id, "" for no answer.',
    is_input=True,
  )
  na_prob_file: str | None = option(
    None,
    "JSON file with a no-answer score by question id, such as null_odds.json; "
    "adds the best thresholds to SQuAD 2.0 scores.",
    is_input=True,
    conflicts=("multi_span",),
  )
  na_prob_thresh: float = option(
    1.0,
    "No-answer score in na_prob_file above which a question is not answered.",
  )
  multi_span: bool = option(
    False,
    "Whether to score sets of spans, by exact and partial match; the "
    "predictions are then a list of spans or one text by question id.",
  )
  characters: bool = option(
    False,
    "Whether each character of Chinese, Japanese, Thai, Lao, Burmese or Khmer "
    "counts as a word, as MLQA scores Chinese; the official metrics split at "
    "blanks.",
    conflicts=("multi_span",),
  )
  output_file: str | None = option(
    None, "File to which the JSON object is also written.", is_output=True
  )


run = program(
  EvaluateOptions,
  "bert_span.jobs.evaluate:evaluate",
  needs_tensorflow=lambda options: False,
)

if __name__ == "__main__":
  run()
