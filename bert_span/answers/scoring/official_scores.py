"""Official scores of prediction files against a SQuAD file."""

import math

from absl import logging

from bert_span.answers.files.prediction_reader import (
  read_na_probs,
  read_predictions,
)
from bert_span.answers.files.span_prediction_reader import read_span_predictions
from bert_span.answers.scoring import squad1, squad2
from bert_span.answers.scoring.multi_span import evaluate_multi_span
from bert_span.answers.scoring.squad1 import evaluate_squad1
from bert_span.answers.scoring.squad2 import evaluate_squad2
from bert_span.squad.reader import read_squad


def score_files(
  predict_file, predictions_file, na_prob_file=None, na_prob_thresh=1.0
):
  """Scores a predictions.json as the official evaluator of its data would.

  The SQuAD file decides which: that of 2.0 when the file says so or marks
  questions with is_impossible, else that of 1.1.

  Args:
    predict_file: the SQuAD file with the annotators' answers.
    predictions_file: JSON file with the predicted text by question id.
    na_prob_file: JSON file with the no-answer score by question id, or None;
      for SQuAD 2.0.
    na_prob_thresh: scores above this mean "no answer".

  Returns:
    The dict of evaluate_squad1 or evaluate_squad2.

  Raises:
    OSError: a file cannot be read.
    ValueError: a file is malformed, or the files do not fit together.
  """
  predictions = read_predictions(predictions_file)
  na_probs = read_na_probs(na_prob_file) if na_prob_file else None
  squad_file = read_squad(predict_file)
  for line in squad_file.report.lines():
    logging.warning("%s", line)
  if na_probs is not None and not squad_file.version_2:
    logging.warning(
      "%s is a SQuAD 1.1 file, whose metrics have no use for the no-answer "
      "scores of %s; they are ignored.",
      predict_file,
      na_prob_file,
    )
    na_probs = None
  try:
    return official_scores(squad_file, predictions, na_probs, na_prob_thresh)
  except ValueError as error:
    files = [predict_file, predictions_file, na_prob_file]
    names = ", ".join(str(name) for name in files if name)
    raise ValueError(f"{names}: {error}") from error


def official_scores(
  squad_file, predictions, na_probs=None, na_prob_thresh=math.inf
):
  """Scores predictions with the official metrics of their data.

  Args:
    squad_file: `SquadFile` with the annotators' answers.
    predictions: dict of text by question id.
    na_probs: dict of the no-answer score by question id, or None. With them
      the metrics are those of SQuAD 2.0, whatever the file.
    na_prob_thresh: scores above this mean "no answer".

  Returns:
    Dict of `evaluate_squad2` for SQuAD 2.0, else of `evaluate_squad1`.

  Raises:
    ValueError: questions and predictions do not fit together.
  """
  examples = squad_file.examples
  if squad_file.version_2 or na_probs is not None:
    return evaluate_squad2(examples, predictions, na_probs, na_prob_thresh)
  return evaluate_squad1(examples, predictions)


def question_scores(example, prediction, version_2):
  """Scores one question, as the official metrics do before they average.

  Args:
    example: `SquadExample`.
    prediction: the predicted text, "" for no answer.
    version_2: whether the data are SQuAD 2.0.

  Returns:
    (exact, f1): 0 or 1, and 0 to 1.
  """
  if not version_2:
    return squad1.score_question(example, prediction)
  score = squad2.score_question(example, prediction)
  return score.exact, score.f1


def score_span_files(predict_file, predictions_file):
  """Scores sets of spans as the official evaluator of MultiSpanQA.

  Args:
    predict_file: SQuAD or MultiSpanQA file with what annotators marked.
    predictions_file: what `read_span_predictions` takes.

  Returns:
    The dict of evaluate_multi_span.

  Raises:
    OSError: a file cannot be read.
    ValueError: a file is malformed, or the files do not fit together.
  """
  predictions = read_span_predictions(predictions_file)
  squad_file = read_squad(predict_file)
  for line in squad_file.report.lines():
    logging.warning("%s", line)
  return evaluate_multi_span(squad_file.examples, predictions)
