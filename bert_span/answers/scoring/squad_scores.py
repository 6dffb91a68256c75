"""The official metrics of SQuAD 1.1 and 2.0.

SQuAD 1.1 has an answer to every question. In SQuAD 2.0 a prediction of "" says
that the passage does not answer the question. Alternatively the model gives
each question a no-answer score, and a threshold decides; the score may be a
probability or run_squad's null odds.

Source: evaluate-v1.1.py and evaluate-v2.0.py.
"""

import collections
import dataclasses
import math
import re
import string

import numpy as np

from bert_span.storage.json_fields import shortened
from bert_span.storage.log import log_line

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_IDS_SHOWN = 5


def official_scores(
  squad_file, predictions, na_probs=None, na_prob_thresh=math.inf
):
  """Scores predictions with the official metrics of a `SquadFile`.

  They are those of `evaluate_squad2` for SQuAD 2.0 and wherever there are
  na_probs, else those of `evaluate_squad1`.
  """
  examples = squad_file.examples
  if squad_file.version_2 or na_probs is not None:
    return evaluate_squad2(examples, predictions, na_probs, na_prob_thresh)
  return evaluate_squad1(examples, predictions)


def evaluate_squad1(examples, predictions):
  """Scores predictions as the official evaluator of SQuAD 1.1.

  Each question counts with the annotator's answer that suits the prediction
  best, for either metric independently. A question without a prediction counts
  0, and the log says how many there are.

  Args:
    examples: list of `SquadExample`. ValueError if there are none, or if one
      has no annotated answer.
    predictions: dict of the predicted text by question id.

  Returns:
    A dict with exact_match and f1, in percent of the questions.
  """
  missing_ids(examples, predictions, "predictions", missing_count="0")
  unanswered = [e.qas_id for e in examples if not e.answers]
  if unanswered:
    raise ValueError(
      "SQuAD 1.1 metrics need at least one annotated answer for every "
      f"question. Received questions without one: {shorten_ids(unanswered)}. "
      "Add their answers or remove them; if they are unanswerable on purpose, "
      "mark the questions with is_impossible and score the file as SQuAD 2.0."
    )
  exact_sum = f1_sum = 0
  for example in examples:
    if example.qas_id in predictions:
      prediction = predictions[example.qas_id]
      exact, f1 = question_scores(example, prediction, version_2=False)
      exact_sum += exact
      f1_sum += f1
  return {
    "exact_match": 100.0 * exact_sum / len(examples),
    "f1": 100.0 * f1_sum / len(examples),
  }


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


def question_scores(example, prediction, version_2):
  """Exact match and F1 with the best of a question's answers, from 0 to 1."""
  if version_2:
    score = score_question(example, prediction)
    return score.exact, score.f1
  golds = [answer.text for answer in example.answers]
  return (
    max(exact_match(prediction, gold) for gold in golds),
    max(answer_f1(prediction, gold, version_2) for gold in golds),
  )


@dataclasses.dataclass(frozen=True)
class QuestionScore:
  """What a question of SQuAD 2.0 contributes before a threshold is applied."""

  has_answer: bool  # whether annotators gave an answer
  predicts_answer: bool  # whether the prediction is other than ""
  exact: int  # 1 if the prediction is one of the answers, else 0
  f1: float  # best F1 of the prediction against an answer, from 0 to 1


def score_question(example, prediction):
  """The `QuestionScore` of a predicted text, "" for no answer.

  As evaluate-v2.0: answers that normalize to nothing ("The") are ignored;
  if none remains, "" is the right answer, even though the question still
  counts among those with an answer.
  """
  golds = [a.text for a in example.answers if normalize_answer(a.text)] or [""]
  return QuestionScore(
    has_answer=bool(example.answers),
    # As evaluate-v2.0: the text is not normalized here, so "the " counts as an
    # answer in the search for the best threshold, but not in the scores.
    predicts_answer=bool(prediction),
    exact=max(exact_match(prediction, gold) for gold in golds),
    f1=max(answer_f1(prediction, gold, version_2=True) for gold in golds),
  )


def normalize_answer(text):
  """Reduces an answer to the words that count when it is scored.

  Lower case, then ASCII punctuation deleted (which joins its neighbours), then
  the articles a, an and the replaced by blanks, then runs of white space
  replaced by one blank. For example "The  U.S. Army's" becomes "us armys".
  """
  text = text.lower().translate(_DELETE_PUNCTUATION)
  return " ".join(_ARTICLES.sub(" ", text).split())


def exact_match(prediction, gold):
  """Whether two answers are the same after normalization, as 1 or 0."""
  return int(normalize_answer(prediction) == normalize_answer(gold))


def answer_f1(prediction, gold, version_2):
  """F1 of the words that two answers share after normalization.

  A word counts as often as it occurs on both sides: "b b c" against "b d"
  share one, so precision is 1/3, recall 1/2 and F1 0.4.

  Where both answers normalize to nothing, F1 is 1 for evaluate-v2.0, since "no
  answer" is right or wrong as a whole, and 0 for evaluate-v1.1, although the
  exact match is 1.
  """
  predicted, wanted = (normalize_answer(x).split() for x in (prediction, gold))
  if version_2 and not (predicted and wanted):
    return float(predicted == wanted)
  shared = collections.Counter(predicted) & collections.Counter(wanted)
  if not shared:
    return 0.0
  precision = shared.total() / len(predicted)
  recall = shared.total() / len(wanted)
  return 2 * precision * recall / (precision + recall)


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
  """
  na_probs = np.asarray(na_probs, np.float64)
  order = np.argsort(na_probs, kind="stable")
  steps = np.concatenate([[num_unanswerable], np.asarray(gains)[order]])
  points = np.cumsum(steps, dtype=np.float64)
  thresholds = np.concatenate([[0.0], na_probs[order]])
  best = np.argmax(points)
  return float(points[best]), float(thresholds[best])


def missing_ids(examples, by_id, name, missing_count=None):
  """The ids of questions without an entry; logs entries without a question.

  `name` is that of the entries, such as "predictions". With a `missing_count`,
  what questions without an entry count as, these are logged, too.
  """
  if not examples:
    raise ValueError(
      "examples must hold at least one question to score. Received: none."
    )
  ids = dict.fromkeys(example.qas_id for example in examples)
  unknown = [qas_id for qas_id in by_id if qas_id not in ids]
  if unknown:
    log_line(
      f"{len(unknown)} of {len(by_id)} {name} belong to no question and are "
      f"ignored: {shorten_ids(unknown)}. Is it the file they were made for?"
    )
  missing = [qas_id for qas_id in ids if qas_id not in by_id]
  if missing and missing_count is not None:
    log_line(
      f"{len(missing)} of {len(examples)} questions have no entry in the "
      f"{name} and count {missing_count}: {shorten_ids(missing)}"
    )
  return missing


def shorten_ids(ids):
  """The first ids as text for a message: "'q1', 'q2', ... (17 in all)"."""
  shown = ", ".join(map(shortened, ids[:_IDS_SHOWN]))
  if len(ids) > _IDS_SHOWN:
    shown += f", ... ({len(ids)} in all)"
  return shown


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
