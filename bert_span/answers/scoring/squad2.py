"""The official metrics of SQuAD 2.0, where a question may have no answer.

A prediction of "" says that the passage does not answer the question.
Alternatively the model gives each question a no-answer score, and a threshold
on it decides; the score may be a probability or run_squad's null odds.
"""

import dataclasses
import math

import numpy as np

from bert_span.answers.files import prediction_ids
from bert_span.answers.scoring.answer_match import (
  exact_match,
  normalize_answer,
  token_f1,
)


@dataclasses.dataclass(frozen=True)
class QuestionScore:
  """What one question contributes before any threshold is applied.

  Attributes:
    has_answer: whether annotators gave an answer.
    predicts_answer: whether the prediction is other than "".
    exact: 1 if the prediction is one of the answers, else 0.
    f1: best F1 of the prediction against an answer, from 0 to 1.
  """

  has_answer: bool
  predicts_answer: bool
  exact: int
  f1: float


def answer_f1(prediction, gold):
  """F1 of the words that two answers share after normalization.

  Where either side normalizes to nothing, F1 is 1 if both do and 0 otherwise:
  "no answer" is then right or wrong as a whole.

  Args:
    prediction: the predicted answer.
    gold: one annotator's answer, "" for no answer.

  Returns:
    A number from 0 to 1.

  Source: compute_f1 of evaluate-v2.0.py.
  """
  prediction_tokens = normalize_answer(prediction).split()
  gold_tokens = normalize_answer(gold).split()
  if not prediction_tokens or not gold_tokens:
    return float(prediction_tokens == gold_tokens)
  return token_f1(prediction_tokens, gold_tokens)


def score_question(example, prediction):
  """Scores one prediction against all answers of its question.

  # As evaluate-v2.0: answers that normalize to nothing ("The") are left out;
  if none remains, "" is the right answer, even though the question still
  counts among those that have one.

  Args:
    example: a SquadExample.
    prediction: the predicted text, "" for no answer.

  Returns:
    A QuestionScore.

  Source: get_raw_scores of evaluate-v2.0.py.
  """
  golds = [a.text for a in example.answers if normalize_answer(a.text)] or [""]
  return QuestionScore(
    has_answer=bool(example.answers),
    # As evaluate-v2.0: the text is not normalized here, so "the " is taken for
    # an answer where the best threshold is sought, but not where it is scored.
    predicts_answer=bool(prediction),
    exact=max(exact_match(prediction, gold) for gold in golds),
    f1=max(answer_f1(prediction, gold) for gold in golds),
  )


def evaluate_squad2(examples, predictions, na_probs=None, na_prob_thresh=1.0):
  """Scores predictions as the official evaluator of SQuAD 2.0.

  A question id that occurs twice counts once, with its last entry.

  Args:
    examples: SquadExamples; those without answers are unanswerable.
    predictions: the predicted text by question id, "" for no answer.
    na_probs: a no-answer score by question id, or None for 0 everywhere.
    na_prob_thresh: a question whose score is above this is taken as not
      answered, whatever its prediction. As evaluate-v2.0: the default of 1.0
      is meant for probabilities but applies to any na_probs.

  Returns:
    A dict with exact and f1 in percent and total in questions; the same with
    HasAns_ and NoAns_ in front over the answerable and the unanswerable ones,
    where there are any; with na_probs also best_exact, best_exact_thresh,
    best_f1 and best_f1_thresh (see best_threshold).

  Raises:
    ValueError: there are no questions, a question has no prediction or no
      no-answer score, or such a score is not a finite number.

  Source: main of evaluate-v2.0.py.
  """
  prediction_ids.require_questions(examples)
  _require_predictions(examples, predictions)
  prediction_ids.warn_about_unknown_ids(examples, predictions, "predictions")
  scores = {
    example.qas_id: score_question(example, predictions[example.qas_id])
    for example in examples
  }
  if na_probs is None:
    return _summarize(scores, dict.fromkeys(scores, 0.0), na_prob_thresh)
  _require_na_probs(examples, na_probs)
  prediction_ids.warn_about_unknown_ids(examples, na_probs, "no-answer scores")
  # Not in the order of the examples: ties in best_threshold follow na_probs.
  na_probs = {q: prob for q, prob in na_probs.items() if q in scores}
  return {
    **_summarize(scores, na_probs, na_prob_thresh),
    **_best_thresholds(scores, na_probs),
  }


def best_threshold(na_probs, gains, num_unanswerable):
  """The no-answer threshold with the highest sum of points, and that sum.

  The search starts with every question taken as unanswerable, which earns one
  point for each that is, and admits the predictions one by one from the lowest
  no-answer score to the highest. An admitted question adds its gain. The first
  of equal maxima wins; where no admission helps, the threshold is 0.0.

    na_probs          0.1  0.4  0.7
    gains               1   -1  0.5   num_unanswerable = 1
    points         1    2    1  1.5   so the result is (2, 0.1)

  # As evaluate-v2.0: predictions of equal score are admitted one after the
  other in the order given, so that the maximum can lie inside such a group,
  where no threshold can cut.

  Args:
    na_probs: float [questions], no-answer scores.
    gains: float [questions], what admitting each prediction adds in points.
    num_unanswerable: how many questions have no answer.

  Returns:
    (points, threshold).

  Source: find_best_thresh of evaluate-v2.0.py.
  """
  na_probs = np.asarray(na_probs, np.float64)
  order = np.argsort(na_probs, kind="stable")
  steps = np.concatenate([[num_unanswerable], np.asarray(gains)[order]])
  points = np.cumsum(steps, dtype=np.float64)
  thresholds = np.concatenate([[0.0], na_probs[order]])
  best = np.argmax(points)
  return float(points[best]), float(thresholds[best])


def _best_thresholds(scores, na_probs):
  """best_exact, best_f1 (percent) and their thresholds, as a dict."""
  num_unanswerable = sum(not score.has_answer for score in scores.values())
  result = {}
  for metric in ("exact", "f1"):
    gains = [_gain(scores[qas_id], metric) for qas_id in na_probs]
    points, threshold = best_threshold(
      list(na_probs.values()), gains, num_unanswerable
    )
    result[f"best_{metric}"] = 100.0 * points / len(scores)
    result[f"best_{metric}_thresh"] = threshold
  return result


def _gain(score, metric):
  """Points won by keeping a prediction over taking it as "no answer"."""
  if score.has_answer:
    return getattr(score, metric)
  return -1 if score.predicts_answer else 0


def _summarize(scores, na_probs, na_prob_thresh):
  """Averages over all, the answerable and the unanswerable questions."""
  kept = {
    qas_id: _apply_threshold(score, na_probs[qas_id] > na_prob_thresh)
    for qas_id, score in scores.items()
  }
  answerable = [score for score in kept.values() if score.has_answer]
  unanswerable = [score for score in kept.values() if not score.has_answer]
  return {
    **_average(list(kept.values()), ""),
    **_average(answerable, "HasAns_"),
    **_average(unanswerable, "NoAns_"),
  }


def _apply_threshold(score, is_rejected):
  """The score once a rejected prediction counts as "no answer"."""
  if not is_rejected:
    return score
  right = not score.has_answer
  return dataclasses.replace(score, exact=int(right), f1=float(right))


def _average(scores, prefix):
  """Mean exact and f1 in percent and the count; {} for no questions."""
  if not scores:
    return {}
  total = len(scores)
  return {
    f"{prefix}exact": 100.0 * sum(score.exact for score in scores) / total,
    f"{prefix}f1": 100.0 * sum(score.f1 for score in scores) / total,
    f"{prefix}total": total,
  }


def _require_predictions(examples, predictions):
  missing = prediction_ids.missing_ids(examples, predictions)
  if missing:
    raise ValueError(
      "SQuAD 2.0 metrics need a prediction for every question. Received none "
      f"for: {prediction_ids.shorten_ids(missing)}. Predict these questions "
      'too, or give them "" if they count as not answered.'
    )


def _require_na_probs(examples, na_probs):
  missing = prediction_ids.missing_ids(examples, na_probs)
  if missing:
    raise ValueError(
      "na_probs must hold a no-answer score for every question. Received none "
      f"for: {prediction_ids.shorten_ids(missing)}. Add these scores, or leave "
      "na_probs out altogether."
    )
  for qas_id, prob in na_probs.items():
    if not math.isfinite(prob):
      raise ValueError(
        "na_probs must be finite numbers, or no threshold can order them. "
        f"Received: {prob} for question {qas_id}."
      )
