"""The official metrics of SQuAD 1.1."""

from absl import logging

from bert_span.answers.files import prediction_ids
from bert_span.answers.scoring.answer_match import (
  exact_match,
  normalize_answer,
  token_f1,
)


def answer_f1(prediction, gold):
  """F1 of the words that two answers share after normalization.

  # As evaluate-v1.1: two answers that both normalize to nothing share no word
  and so score 0, although their exact match is 1.

  Args:
    prediction: the predicted answer.
    gold: one annotator's answer.

  Returns:
    A number from 0 to 1.
  """
  return token_f1(
    normalize_answer(prediction).split(), normalize_answer(gold).split()
  )


def score_question(example, prediction):
  """Scores one prediction against all answers of its question.

  Args:
    example: a SquadExample with at least one answer.
    prediction: the predicted text.

  Returns:
    (exact, f1): 1 if the prediction is one of the answers, else 0, and the
    best F1 against an answer, from 0 to 1.
  """
  golds = [answer.text for answer in example.answers]
  return (
    max(exact_match(prediction, gold) for gold in golds),
    max(answer_f1(prediction, gold) for gold in golds),
  )


def evaluate_squad1(examples, predictions):
  """Scores predictions as the official evaluator of SQuAD 1.1.

  Each question counts with the annotator's answer that suits the prediction
  best, for either figure on its own. A question without a prediction counts
  0, and a log message says how many there are. A question id that occurs
  twice counts twice.

  Args:
    examples: SquadExamples, each with at least one answer.
    predictions: the predicted text by question id.

  Returns:
    A dict with exact_match and f1, in percent of the questions.

  Raises:
    ValueError: there are no questions, or some have no annotated answer.

  Source: evaluate of evaluate-v1.1.py.
  """
  prediction_ids.require_questions(examples)
  _require_answers(examples)
  _warn_about_missing(examples, predictions)
  prediction_ids.warn_about_unknown_ids(examples, predictions, "predictions")
  exact_sum = f1_sum = 0
  for example in examples:
    if example.qas_id not in predictions:
      continue
    exact, f1 = score_question(example, predictions[example.qas_id])
    exact_sum += exact
    f1_sum += f1
  return {
    "exact_match": 100.0 * exact_sum / len(examples),
    "f1": 100.0 * f1_sum / len(examples),
  }


def _require_answers(examples):
  """Raises a ValueError that names the questions nobody has answered."""
  unanswered = [e.qas_id for e in examples if not e.answers]
  if unanswered:
    raise ValueError(
      "SQuAD 1.1 metrics need at least one annotated answer for every "
      "question. Received questions without one: "
      f"{prediction_ids.shorten_ids(unanswered)}. Add their answers or remove "
      "them; if they are unanswerable on purpose, mark the questions with "
      "is_impossible and score the file as SQuAD 2.0."
    )


def _warn_about_missing(examples, predictions):
  missing = prediction_ids.missing_ids(examples, predictions)
  if missing:
    logging.warning(
      "%d of %d questions have no prediction and count 0: %s",
      len(missing),
      len(examples),
      prediction_ids.shorten_ids(missing),
    )
