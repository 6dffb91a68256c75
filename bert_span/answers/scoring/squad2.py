"""The official metrics of SQuAD 2.0, where a question may have no answer.

A prediction of "" says that the passage does not answer the question.
Alternatively the model gives each question a no-answer score, and a threshold
decides; the score may be a probability or run_squad's null odds.
"""

import dataclasses
import math

import numpy as np

from bert_span.answers.scoring.answer_match import (
  exact_match,
  missing_ids,
  normalize_answer,
  shorten_ids,
  token_f1,
)


@dataclasses.dataclass(frozen=True)
class QuestionScore:
  """What one question contributes before any threshold is applied."""

  has_answer: bool  # whether annotators gave an answer
  predicts_answer: bool  # whether the prediction is other than ""
  exact: int  # 1 if the prediction is one of the answers, else 0
  f1: float  # best F1 of the prediction against an answer, from 0 to 1


def answer_f1(prediction, gold):
  """F1 of the words that two answers share after normalization.

  Where either side normalizes to nothing, F1 is 1 if both do and 0 otherwise:
  "no answer" is then right or wrong as a whole.

  Source: compute_f1 of evaluate-v2.0.py.
  """
  prediction_tokens = normalize_answer(prediction).split()
  gold_tokens = normalize_answer(gold).split()
  if not prediction_tokens or not gold_tokens:
    return float(prediction_tokens == gold_tokens)
  return token_f1(prediction_tokens, gold_tokens)


def score_question(example, prediction):
  """The `QuestionScore` of a predicted text, "" for no answer.

  As evaluate-v2.0: answers that normalize to nothing ("The") are ignored;
  if none remains, "" is the right answer, even though the question still
  counts among those with an answer.

  Source: get_raw_scores of evaluate-v2.0.py.
  """
  golds = [a.text for a in example.answers if normalize_answer(a.text)] or [""]
  return QuestionScore(
    has_answer=bool(example.answers),
    # As evaluate-v2.0: the text is not normalized here, so "the " counts as an
    # answer in the search for the best threshold, but not in the scores.
    predicts_answer=bool(prediction),
    exact=max(exact_match(prediction, gold) for gold in golds),
    f1=max(answer_f1(prediction, gold) for gold in golds),
  )


def evaluate_squad2(examples, predictions, na_probs=None, na_prob_thresh=1.0):
  """Scores predictions as the official evaluator of SQuAD 2.0.

  Args:
    examples: list of `SquadExample`; those without answers are unanswerable.
    predictions: dict of the predicted text by question id, "" for no answer.
    na_probs: dict of the no-answer score by question id, or None for 0.
    na_prob_thresh: a question with a higher score counts as not answered,
      whatever its prediction. As evaluate-v2.0: the default of 1.0 is meant
      for probabilities but applies to any na_probs.

  Returns:
    A dict with exact and f1 in percent and total in questions; the same with
    HasAns_ and NoAns_ in front over the answerable and the unanswerable
    questions, where there are any; with na_probs also best_exact,
    best_exact_thresh, best_f1 and best_f1_thresh (see best_threshold).

  Raises:
    ValueError: there are no questions, a question has no prediction or no
      no-answer score, or such a score is not a finite number.

  Source: main of evaluate-v2.0.py.
  """
  missing = missing_ids(examples, predictions, "predictions")
  if missing:
    raise ValueError(
      "SQuAD 2.0 metrics need a prediction for every question. Received none "
      f"for: {shorten_ids(missing)}. Predict these questions too, or give them "
      '"" if they count as not answered.'
    )
  scores = {
    example.qas_id: score_question(example, predictions[example.qas_id])
    for example in examples
  }
  if na_probs is not None:
    _check_na_probs(examples, na_probs)
  result = _averages(
    _as_not_answered(score)
    if (na_probs or {}).get(qas_id, 0.0) > na_prob_thresh
    else score
    for qas_id, score in scores.items()
  )
  if na_probs is None:
    return result
  # Not in the order of the examples: ties in best_threshold follow na_probs.
  na_probs = {q: prob for q, prob in na_probs.items() if q in scores}
  num_unanswerable = sum(not score.has_answer for score in scores.values())
  for metric in ("exact", "f1"):
    points, threshold = best_threshold(
      list(na_probs.values()),
      [_gain(scores[qas_id], metric) for qas_id in na_probs],
      num_unanswerable,
    )
    result[f"best_{metric}"] = 100.0 * points / len(scores)
    result[f"best_{metric}_thresh"] = threshold
  return result


def best_threshold(na_probs, gains, num_unanswerable):
  """The no-answer threshold with the highest sum of points, and that sum.

  The search starts with every question unanswered, which earns one point for
  each unanswerable question, and admits the predictions one by one from the
  lowest no-answer score to the highest. An admitted question adds its gain. The
  first of equal maxima wins; where no admission helps, the threshold is 0.0.

    na_probs          0.1  0.4  0.7
    gains               1   -1  0.5   num_unanswerable = 1
    points         1    2    1  1.5   so the result is (2, 0.1)

  As evaluate-v2.0: predictions of equal score are admitted one after the
  other in the order given, so that the maximum can lie inside such a group,
  where no threshold can cut.

  Source: find_best_thresh of evaluate-v2.0.py.
  """
  na_probs = np.asarray(na_probs, np.float64)
  order = np.argsort(na_probs, kind="stable")
  steps = np.concatenate([[num_unanswerable], np.asarray(gains)[order]])
  points = np.cumsum(steps, dtype=np.float64)
  thresholds = np.concatenate([[0.0], na_probs[order]])
  best = np.argmax(points)
  return float(points[best]), float(thresholds[best])


def _check_na_probs(examples, na_probs):
  missing = missing_ids(examples, na_probs, "no-answer scores")
  if missing:
    raise ValueError(
      "na_probs must hold a no-answer score for every question. Received none "
      f"for: {shorten_ids(missing)}. Add these scores, or give no na_probs."
    )
  for qas_id, prob in na_probs.items():
    if not math.isfinite(prob):
      raise ValueError(
        "na_probs must be finite numbers, or no threshold can order them. "
        f"Received: {prob} for question {qas_id}. Give numbers."
      )


def _gain(score, metric):
  """Points won by keeping a prediction instead of "no answer"."""
  if score.has_answer:
    return getattr(score, metric)
  return -1 if score.predicts_answer else 0


def _as_not_answered(score):
  right = not score.has_answer
  return dataclasses.replace(score, exact=int(right), f1=float(right))


def _averages(scores):
  """Over all, the answerable and the unanswerable questions, in percent."""
  scores = list(scores)
  groups = {
    "": scores,
    "HasAns_": [score for score in scores if score.has_answer],
    "NoAns_": [score for score in scores if not score.has_answer],
  }
  result = {}
  for prefix, group in groups.items():
    if group:
      total = len(group)
      result[f"{prefix}exact"] = 100.0 * sum(s.exact for s in group) / total
      result[f"{prefix}f1"] = 100.0 * sum(s.f1 for s in group) / total
      result[f"{prefix}total"] = total
  return result
