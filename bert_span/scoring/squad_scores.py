"""The official metrics of SQuAD 1.1 and 2.0, and of MultiSpanQA.

In SQuAD 2.0 a prediction of "" is "no answer". Alternatively the model gives
each question a no-answer score, such as a probability or run_squad's null odds,
and a threshold decides.

Both metrics split answers at blanks. Chinese, Japanese or Thai have no blanks:
with `characters` each of their characters counts as a word, as in MLQA.

Source: evaluate-v1.1.py and evaluate-v2.0.py; Lewis et al. 2020, MLQA, and its
mlqa_evaluation_v1.py for Chinese.
"""

import collections
import difflib
import math
import re
import string
import unicodedata

import numpy as np

from bert_span.options.messages import shortened
from bert_span.storage.log import log_line

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
# The scripts without blanks: Thai and Lao, Burmese, Khmer, kana and Han.
_WITHOUT_BLANKS = re.compile(
  "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"
  "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]"
)
_IDS_SHOWN = 5


def normalize_answer(text):
  """Removes case, ASCII punctuation and the articles a, an and the.

  "The  U.S. Army's" becomes "us armys".
  """
  text = text.lower().translate(_DELETE_PUNCTUATION)
  return " ".join(_ARTICLES.sub(" ", text).split())


def normalize_characters(text):
  """Removes case and punctuation; in scripts without blanks, splits characters.

  For example, "《The Wire》第2季" becomes "the wire 第 2 季".
  """
  text = text.lower().translate(_DELETE_PUNCTUATION)
  text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
  return " ".join(_WITHOUT_BLANKS.sub(r" \g<0> ", text).split())


def official_scores(
  squad_file,
  predictions,
  na_probs=None,
  na_prob_thresh=math.inf,
  characters=False,
):
  """Scores predictions by `evaluate_squad2` or `evaluate_squad1`.

  evaluate_squad2 scores a `SquadFile` of SQuAD 2.0, and any file with na_probs.
  With `characters` texts are compared by `normalize_characters`.
  """
  examples = squad_file.examples
  normalize = normalize_characters if characters else normalize_answer
  if squad_file.version_2 or na_probs is not None:
    return evaluate_squad2(
      examples, predictions, na_probs, na_prob_thresh, normalize
    )
  return evaluate_squad1(examples, predictions, normalize)


def evaluate_squad1(examples, predictions, normalize=normalize_answer):
  """Scores predictions as the official evaluator of SQuAD 1.1.

  Each metric compares a prediction with the annotated answer that suits it
  best; a question without a prediction counts 0.
  `predictions` are texts by question id. Returns a dict of exact_match and f1,
  in percent; ValueError if a question has no annotated answer.
  """
  _check_ids(examples, predictions)
  _check_annotated([e for e in examples if not e.answers])
  scores = [
    question_scores(example, predictions[example.qas_id], False, normalize)
    for example in examples
    if example.qas_id in predictions
  ]
  sums = [sum(score[i] for score in scores) for i in (0, 1)]
  exact, f1 = (100.0 * total / len(examples) for total in sums)
  return {"exact_match": exact, "f1": f1}


def evaluate_squad2(
  examples,
  predictions,
  na_probs=None,
  na_prob_thresh=1.0,
  normalize=normalize_answer,
):
  """Scores predictions as the official evaluator of SQuAD 2.0.

  Args:
    examples: list of `SquadExample`; those without answers are unanswerable.
    predictions: dict of the predicted text by question id, "" for no answer.
    na_probs: dict of the finite no-answer score by question id, or None.
    na_prob_thresh: a question with a higher score counts as not answered,
      whatever its prediction. As evaluate-v2.0: the default of 1.0 is meant
      for probabilities but applies to any na_probs.
    normalize: `normalize_answer` or `normalize_characters`.

  Returns:
    A dict with exact and f1 in percent and total in questions. The same with
    the prefix HasAns_ for answerable and NoAns_ for unanswerable questions, if
    there are any. With na_probs also best_exact, best_exact_thresh, best_f1 and
    best_f1_thresh (see `best_threshold`).

  Raises:
    ValueError: a question has no prediction or no score.
  """
  _check_ids(examples, predictions, remedy='"" for no answer')
  if na_probs is not None:
    _check_ids(examples, na_probs, "no-answer scores", "finite numbers")
    for qas_id, score in na_probs.items():
      if not math.isfinite(score):
        raise ValueError(
          "na_probs must be finite numbers, which a threshold can order. "
          f"Received: {score} for question {qas_id}."
        )
  # As evaluate-v2.0: the last question of a repeated id counts.
  examples = list({example.qas_id: example for example in examples}.values())
  answerable = {example.qas_id for example in examples if example.answers}
  scores, final = {}, {}
  for example in examples:
    qas_id = example.qas_id
    scores[qas_id] = question_scores(
      example, predictions[qas_id], True, normalize
    )
    is_empty = (na_probs or {}).get(qas_id, 0.0) > na_prob_thresh
    empty_scores = (qas_id not in answerable,) * 2
    final[qas_id] = empty_scores if is_empty else scores[qas_id]
  groups = {
    "": list(scores),
    "HasAns_": [qas_id for qas_id in scores if qas_id in answerable],
    "NoAns_": [qas_id for qas_id in scores if qas_id not in answerable],
  }
  metrics, result = ("exact", "f1"), {}
  for prefix, ids in groups.items():
    if ids:
      for i, metric in enumerate(metrics):
        total = sum(float(final[qas_id][i]) for qas_id in ids)
        result[f"{prefix}{metric}"] = 100.0 * total / len(ids)
      result[f"{prefix}total"] = len(ids)
  if na_probs is None:
    return result
  # In the order of na_probs, which decides ties in `best_threshold`.
  na_probs = {q: prob for q, prob in na_probs.items() if q in scores}
  for i, metric in enumerate(metrics):
    # Points that a prediction gains over "no answer". As evaluate-v2.0: the
    # prediction is not normalized here, so "the " counts as an answer to an
    # unanswerable question.
    gains = [
      scores[q][i] if q in answerable else -1 if predictions[q] else 0
      for q in na_probs
    ]
    points, threshold = best_threshold(
      list(na_probs.values()), gains, len(groups["NoAns_"])
    )
    result[f"best_{metric}"] = 100.0 * points / len(scores)
    result[f"best_{metric}_thresh"] = threshold
  return result


def question_scores(example, prediction, version_2, normalize=normalize_answer):
  """Returns exact match and F1 with a question's best answers, from 0 to 1.

  As evaluate-v2.0: with version_2, answers that normalize to nothing ("The")
  are ignored. If none remains, "" is the right answer, but the question still
  counts as answerable.
  """
  golds = [answer.text for answer in example.answers]
  if version_2:
    golds = [gold for gold in golds if normalize(gold)] or [""]
  return (
    max(exact_match(prediction, gold, normalize) for gold in golds),
    max(answer_f1(prediction, gold, version_2, normalize) for gold in golds),
  )


def exact_match(prediction, gold, normalize=normalize_answer):
  """Returns 1 if two answers are the same after normalization, else 0."""
  return int(normalize(prediction) == normalize(gold))


def answer_f1(prediction, gold, version_2, normalize=normalize_answer):
  """Returns F1 of the words that two answers share after normalization.

  A word counts as often as it occurs on both sides: "b b c" and "b d" share one
  word, so precision is 1/3, recall 1/2 and F1 0.4. If both answers normalize to
  nothing, F1 is 1 for evaluate-v2.0, and 0 for evaluate-v1.1, although the
  exact match is 1.
  """
  predicted, golden = (normalize(x).split() for x in (prediction, gold))
  if version_2 and not (predicted and golden):
    return float(predicted == golden)
  shared = collections.Counter(predicted) & collections.Counter(golden)
  if not shared:
    return 0.0
  precision = shared.total() / len(predicted)
  recall = shared.total() / len(golden)
  return 2 * precision * recall / (precision + recall)


def best_threshold(na_probs, gains, num_unanswerable):
  """Returns the highest sum of points, and its no-answer threshold.

  If no question is answered, each unanswerable one gives a point. Predictions
  are added from the lowest no-answer score to the highest, each with its gain.
  The first of equal maxima is used; if no prediction helps, the threshold is
  0.0.

    na_probs          0.1  0.4  0.7
    gains               1   -1  0.5   num_unanswerable = 1
    points         1    2    1  1.5   so the result is (2, 0.1)

  As evaluate-v2.0: predictions of equal score are added one by one, so that the
  maximum can be inside such a group, which no threshold divides.
  """
  na_probs = np.asarray(na_probs, np.float64)
  order = np.argsort(na_probs, kind="stable")
  points = np.cumsum([num_unanswerable, *np.array(gains)[order]], dtype=float)
  thresholds = [0.0, *na_probs[order]]
  best = np.argmax(points)
  return float(points[best]), float(thresholds[best])


def evaluate_multi_span(examples, predictions):
  """Scores sets of spans as the official evaluator of MultiSpanQA.

  Equal normalized texts of a question count once.

      exact match    a predicted span counts 1 if it is a gold span
      partial match  a predicted span counts the largest share of its characters
                     that is also one run in a gold span (precision); a gold
                     span counts its share in the same way (recall)

  Both are summed over all questions before precision and recall are computed. A
  question without predicted (or gold) spans counts as one such span. The
  annotator whose spans suit the prediction best is used, by the F1 of exact
  match, then of partial match.

  Example: gold {"old mill", "river"}, predicted {"the old mill house"}. Exact
  matches: none. Precision: 8/14, "old mill" in "old mill house". Recall:
  (8/8 + 1/5) / 2, since the longest run of "river" is one letter.

  `predictions` are lists of texts by question id, [] for no answer. Returns a
  dict with precision, recall and f1 of exact_match_ and overlap_, in percent;
  ValueError if a question has no annotator.

  Source: Li et al. 2022, MultiSpanQA, section 5, and its eval_script.py.
  """
  _check_ids(examples, predictions)
  _check_annotated([e for e in examples if not e.annotators])
  counts = []
  for example in examples:
    predicted = set(map(normalize_answer, predictions.get(example.qas_id, [])))
    by_annotator = (
      _span_counts({normalize_answer(span.text) for span in spans}, predicted)
      for spans in example.annotators
    )
    counts.append(
      max(by_annotator, key=lambda c: [f1 for *_, f1 in _span_ratios(c)])
    )
  ratios = _span_ratios(np.sum(counts, axis=0))
  return {
    f"{match}_{name}": float(100.0 * ratio)
    for match, values in zip(("exact_match", "overlap"), ratios, strict=True)
    for name, ratio in zip(("precision", "recall", "f1"), values, strict=True)
  }


def _span_counts(gold, predicted):
  """Returns the numbers of predicted spans, gold spans and exact matches.

  Then follow the sums of the best shares of predicted and of gold spans.
  """
  exact = len(gold & predicted) if gold or predicted else 1
  # As the official evaluator: for overlaps a single empty text is "no answer".
  is_empty = not predicted or predicted == {""}
  if not gold or is_empty:
    by_predicted = by_gold = float(not gold and is_empty)
  else:
    runs = {(g, p): _longest_run(g, p) for g in gold for p in predicted}
    by_predicted = sum(
      max(runs[g, p] for g in gold) / max(len(p), 1) for p in predicted
    )
    by_gold = sum(
      max(runs[g, p] for p in predicted) / max(len(g), 1) for g in gold
    )
  return max(len(predicted), 1), max(len(gold), 1), exact, by_predicted, by_gold


def _longest_run(gold, predicted):
  # As the official evaluator: the matcher skips frequent characters in a
  # prediction of 200 characters or more.
  matcher = difflib.SequenceMatcher(None, gold, predicted)
  return matcher.find_longest_match(0, len(gold), 0, len(predicted)).size


def _span_ratios(counts):
  """Returns (precision, recall, f1) of exact match, and of partial match."""
  num_predicted, num_gold, exact, by_predicted, by_gold = counts
  ratios = []
  for predicted_sum, gold_sum in ((exact, exact), (by_predicted, by_gold)):
    precision, recall = predicted_sum / num_predicted, gold_sum / num_gold
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    ratios.append((precision, recall, f1))
  return ratios


def _check_ids(examples, by_id, name="predictions", remedy=None):
  """Logs entries without a question, and questions without an entry.

  With a `remedy`, questions without an entry raise ValueError.
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
      f"ignored: {_shorten_ids(unknown)}. Is it the file they were made for?"
    )
  missing = [qas_id for qas_id in ids if qas_id not in by_id]
  if missing and remedy:
    raise ValueError(
      f"SQuAD 2.0 metrics need {name} of every question. Received none for: "
      f"{_shorten_ids(missing)}. Add them: {remedy}."
    )
  if missing:
    log_line(
      f"{len(missing)} of {len(examples)} questions have no entry in the "
      f"{name} and count as not answered: {_shorten_ids(missing)}"
    )


def _check_annotated(unanswered):
  if unanswered:
    ids = _shorten_ids([example.qas_id for example in unanswered])
    raise ValueError(
      "These metrics need an annotated answer for every question. Received "
      f"questions without one: {ids}. Add answers, remove the questions, or "
      "mark them with is_impossible and score the file as SQuAD 2.0."
    )


def _shorten_ids(ids):
  """Returns text such as "'q1', 'q2', 'q3', 'q4', 'q5', ... (17 in all)"."""
  shown = ", ".join(map(shortened, ids[:_IDS_SHOWN]))
  if len(ids) > _IDS_SHOWN:
    shown += f", ... ({len(ids)} in all)"
  return shown
