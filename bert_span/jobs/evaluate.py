"""What evaluate does: scores files of predictions and shows the scores."""

import json
import sys

from bert_span.answers import prediction_files
from bert_span.reporting.score_table import format_bio_scores, format_scores
from bert_span.scoring import squad_scores
from bert_span.squad.reader import read_squad
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.log import log_line


def evaluate(predict_file, output_file=None, multi_span=False, **options):
  """Prints what `score_files` returns, and writes it to output_file."""
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
  characters=False,
):
  """Scores by the official evaluator of the data: `official_scores`."""
  if multi_span and characters:
    raise ValueError("characters has no use with multi_span.")
  read = prediction_files.read_predictions
  if multi_span:
    read = prediction_files.read_span_predictions
  predictions, na_probs = read(predictions_file), None
  if na_prob_file:
    na_probs = prediction_files.read_na_probs(na_prob_file)
  elif na_prob_thresh != 1.0:
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
      return squad_scores.evaluate_multi_span(squad_file.examples, predictions)
    return squad_scores.official_scores(
      squad_file, predictions, na_probs, na_prob_thresh, characters
    )
  except ValueError as error:
    files = filter(None, [predict_file, predictions_file, na_prob_file])
    raise ValueError(f"{', '.join(map(str, files))}: {error}") from error
