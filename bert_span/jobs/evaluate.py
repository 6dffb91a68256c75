"""What evaluate does: scores files of predictions and shows the scores."""

import json
import sys
import typing

from bert_span.answers import prediction_files
from bert_span.reporting.score_table import format_bio_scores, format_scores
from bert_span.scoring import squad_scores
from bert_span.squad.reader import read_squad
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.log import log_line

if typing.TYPE_CHECKING:
  from bert_span.evaluate import EvaluateOptions


def evaluate(options: "EvaluateOptions"):
  """Prints scores, writes them if a file is named, and returns them."""
  scores = _read_and_score(options)
  table = format_bio_scores if options.multi_span else format_scores
  print(table(scores), file=sys.stderr)
  if options.output_file:
    write_json_atomically(options.output_file, scores)
  print(json.dumps(scores))
  return scores


def _read_and_score(options):
  """Returns the scores by the official evaluator of the data."""
  predict_file, na_prob_file = options.predict_file, options.na_prob_file
  read = prediction_files.read_predictions
  if options.multi_span:
    read = prediction_files.read_span_predictions
  predictions, na_probs = read(options.predictions_file), None
  if na_prob_file:
    na_probs = prediction_files.read_na_probs(na_prob_file)
  elif options.na_prob_thresh != 1.0:
    log_line(
      "Without na_prob_file every no-answer score is 0, so na_prob_thresh="
      f"{options.na_prob_thresh:g} has the same effect on all questions."
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
    if options.multi_span:
      return squad_scores.evaluate_multi_span(squad_file.examples, predictions)
    return squad_scores.official_scores(
      squad_file,
      predictions,
      na_probs,
      options.na_prob_thresh,
      options.characters,
    )
  except ValueError as error:
    files = predict_file, options.predictions_file, na_prob_file
    raise ValueError(f"{', '.join(filter(None, files))}: {error}") from error
