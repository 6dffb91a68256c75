"""What evaluate does: scores files of predictions and shows the scores."""

import json
import sys

from bert_span.answers.prediction_files import (
  read_na_probs,
  read_predictions,
  read_span_predictions,
)
from bert_span.answers.scoring.squad_scores import (
  evaluate_multi_span,
  official_scores,
)
from bert_span.reporting.score_table import format_bio_scores, format_scores
from bert_span.squad.reader import read_squad
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.log import log_line


def evaluate(predict_file, output_file=None, multi_span=False, **options):
  """Prints what `score_files` returns, and writes it to output_file.

  Standard output gets one JSON object, standard error the same as a table.
  """
  scores = score_files(predict_file, multi_span=multi_span, **options)
  table = format_bio_scores(scores) if multi_span else format_scores(scores)
  print(table, file=sys.stderr)
  if output_file:
    write_json_atomically(output_file, scores)
  print(json.dumps(scores))


def score_files(
  predict_file,
  predictions_file,
  na_prob_file=None,
  na_prob_thresh=1.0,
  multi_span=False,
):
  """Scores a file of predictions as the official evaluator of its data.

  The SQuAD file decides which: that of 2.0 if the file says so or marks
  questions with is_impossible, else that of 1.1. The arguments are the flags of
  bert_span.evaluate.
  Returns a dict, see `official_scores` and `evaluate_multi_span`.
  """
  read = read_span_predictions if multi_span else read_predictions
  predictions = read(predictions_file)
  na_probs = read_na_probs(na_prob_file) if na_prob_file else None
  if na_probs is None and na_prob_thresh != 1.0:
    log_line(
      "Without --na_prob_file every no-answer score is 0, so "
      f"--na_prob_thresh={na_prob_thresh:g} decides alike for all questions."
    )
  squad_file = read_squad(predict_file)
  log_line(*squad_file.report.lines())
  if na_probs is not None and not squad_file.version_2:
    log_line(
      f"{predict_file} is a SQuAD 1.1 file, whose metrics do not use the "
      f"no-answer scores of {na_prob_file}; they are ignored."
    )
    na_probs = None
  try:
    if multi_span:
      return evaluate_multi_span(squad_file.examples, predictions)
    return official_scores(squad_file, predictions, na_probs, na_prob_thresh)
  except ValueError as error:
    files = [predict_file, predictions_file, na_prob_file]
    names = ", ".join(str(name) for name in files if name)
    raise ValueError(f"{names}: {error}") from error
