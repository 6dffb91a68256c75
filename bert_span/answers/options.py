"""The files of predictions, and how they answer; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import CheckedOptions, option

PREDICTIONS_FILE = "predictions.json"
N_BEST_FILE = "nbest_predictions.json"
SPANS_FILE = "span_predictions.json"
NULL_ODDS_FILE = "null_odds.json"
AGREEMENT_FILE = "tag_agreement.json"
DISAGREEMENT_FILE = "disagreement.json"
# All files of a prediction. A run replaces those of an earlier run as a whole.
PREDICTION_FILES = (
  *(PREDICTIONS_FILE, N_BEST_FILE, SPANS_FILE, NULL_ODDS_FILE),
  *(AGREEMENT_FILE, DISAGREEMENT_FILE),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictionOptions(CheckedOptions):
  """How prediction files answer."""

  no_span: str = option(
    "no_answer",
    "Answer to a question without any possible span: no answer, or as in "
    "run_squad the text 'empty' and with version_2_with_negative an error.",
    choices=("no_answer", "original"),
  )
