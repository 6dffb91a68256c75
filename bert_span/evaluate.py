r"""Scores a prediction file with the official SQuAD 1.1 or 2.0 metrics.

    python -m bert_span.evaluate --predict_file=dev.json \
      --predictions_file=predictions.json [--na_prob_file=null_odds.json]

With --multi_span the metrics are those of MultiSpanQA, for sets of spans:

    python -m bert_span.evaluate --multi_span --predict_file=dev.json \
      --predictions_file=span_predictions.json

Standard output gets the official scores as JSON, standard error as a table.
"""

import math

from absl import flags

from bert_span.cli import model_flags, program
from bert_span.cli.option_flags import OptionFlags
from bert_span.options.fields import option


class _Options:
  predictions_file: str | None = option(
    None, 'JSON file with the predicted text by question id, "" for no answer.'
  )
  na_prob_file: str | None = option(
    None,
    "JSON file with a no-answer score by question id, such as null_odds.json; "
    "adds the best thresholds to SQuAD 2.0 scores.",
  )
  multi_span: bool = option(
    False,
    "Whether to score sets of spans, by exact and partial match; the "
    "predictions are then a list of spans or one text by question id.",
  )
  output_file: str | None = option(
    None, "File to which the JSON object is also written."
  )


_OPTIONS = OptionFlags(_Options)
_NA_PROB_THRESH = flags.DEFINE_float(
  "na_prob_thresh",
  1.0,
  "No-answer score in --na_prob_file above which a question is not answered.",
)
_PREDICT_FILE = model_flags.shared_flags("predict_file").predict_file


@program.entry_point
def run(argv):
  program.require(_PREDICT_FILE, _OPTIONS.predictions_file)
  if math.isnan(_NA_PROB_THRESH.value):
    raise ValueError("--na_prob_thresh must be a number. Received: nan")
  if _OPTIONS.multi_span.value:
    program.forbid([_OPTIONS.na_prob_file], "has no use with --multi_span")
  from bert_span.jobs import evaluate

  evaluate.evaluate(
    _PREDICT_FILE.value,
    na_prob_thresh=_NA_PROB_THRESH.value,
    **_OPTIONS.values(),
  )


if __name__ == "__main__":
  run()
