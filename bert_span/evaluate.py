r"""Scores a prediction file with the official SQuAD 1.1 or 2.0 metrics.

    python -m bert_span.evaluate --predict_file=dev.json \
      --predictions_file=predictions.json [--na_prob_file=null_odds.json]

Languages without blanks, such as Chinese, are scored with --characters. With
--multi_span the metrics are those of MultiSpanQA, for sets of spans:

    python -m bert_span.evaluate --multi_span --predict_file=dev.json \
      --predictions_file=span_predictions.json

Standard output gets the official scores as JSON, standard error as a table.
"""

import math

from absl import flags

from bert_span.cli import model_flags, program

_PREDICTIONS_FILE = flags.DEFINE_string(
  "predictions_file",
  None,
  'JSON file with the predicted text by question id, "" for no answer.',
)
_NA_PROB_FILE = flags.DEFINE_string(
  "na_prob_file",
  None,
  "JSON file with a no-answer score by question id, such as null_odds.json; "
  "adds the best thresholds to SQuAD 2.0 scores.",
)
_NA_PROB_THRESH = flags.DEFINE_float(
  "na_prob_thresh",
  1.0,
  "No-answer score in --na_prob_file above which a question is not answered.",
)
_MULTI_SPAN = flags.DEFINE_bool(
  "multi_span",
  False,
  "Whether to score sets of spans, by exact and partial match; the "
  "predictions are then a list of spans or one text by question id.",
)
_CHARACTERS = flags.DEFINE_bool(
  "characters",
  False,
  "Whether each character of Chinese, Japanese, Thai, Lao, Burmese or Khmer "
  "counts as a word, as MLQA scores Chinese; the official metrics split at "
  "blanks.",
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", None, "File to which the JSON object is also written."
)
(_PREDICT_FILE,) = model_flags.define_shared_flags("predict_file")


@program.entry_point
def run(argv):
  program.require(_PREDICT_FILE, _PREDICTIONS_FILE)
  if math.isnan(_NA_PROB_THRESH.value):
    raise ValueError("--na_prob_thresh must be a number. Received: nan")
  if _MULTI_SPAN.value:
    unused = [_NA_PROB_FILE, _CHARACTERS]
    program.forbid(unused, "has no use with --multi_span")
  from bert_span.jobs import evaluate

  evaluate.evaluate(
    _PREDICT_FILE.value,
    output_file=_OUTPUT_FILE.value,
    multi_span=_MULTI_SPAN.value,
    predictions_file=_PREDICTIONS_FILE.value,
    na_prob_file=_NA_PROB_FILE.value,
    na_prob_thresh=_NA_PROB_THRESH.value,
    characters=_CHARACTERS.value,
  )


if __name__ == "__main__":
  run()
