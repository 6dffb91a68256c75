"""Precision, recall and F1 of sets of spans, as MultiSpanQA scores them."""

import difflib

import numpy as np

from bert_span.answers.scoring.squad_scores import (
  missing_ids,
  normalize_answer,
  shorten_ids,
)


def evaluate_multi_span(examples, predictions):
  """Scores sets of spans as the official evaluator of MultiSpanQA.

  Texts are normalized as SQuAD's are, and equal ones of a question count once.

      exact match    a predicted span counts 1 if it is a gold span
      partial match  a predicted span counts the greatest share of its
                     characters that is one run of a gold span too (precision),
                     a gold span the greatest share of its characters (recall)

  Both are summed over all questions before precision and recall are computed; a
  question without a span counts as one span on that side. Where several
  annotators answered, each question counts with the annotator whose spans suit
  the prediction best, by the F1 of exact match, then of partial match.

  Example: gold {"old mill", "river"}, predicted {"the old mill house"}, which
  is "old mill house" when normalized: no exact match; precision 8/14 for
  "old mill", recall (8/8 + 1/5) / 2, for the longest run of "river" is one
  letter.

  Args:
    examples: list of `SquadExample`, each with an annotator.
    predictions: dict of a list of predicted texts by question id, [] for no
      answer.

  Returns:
    A dict with exact_match_precision, exact_match_recall, exact_match_f1,
    overlap_precision, overlap_recall, overlap_f1, in percent.

  Raises:
    ValueError: there are no questions, or some have no annotator.

  Source: Li et al. 2022, MultiSpanQA, section 5, and its eval_script.py.
  """
  missing_ids(examples, predictions, "predictions", "as not answered")
  unanswered = [e.qas_id for e in examples if not e.annotators]
  if unanswered:
    raise ValueError(
      "Scores of several spans need at least one annotator for every question. "
      f"Received questions without one: {shorten_ids(unanswered)}. Add their "
      "annotations or answers, or mark them with is_impossible."
    )
  counts = [
    _best_counts(example, predictions.get(example.qas_id, []))
    for example in examples
  ]
  num_predicted, num_gold, exact, *overlaps = np.sum(counts, axis=0)
  return {
    **_scores("exact_match", exact / num_predicted, exact / num_gold),
    **_scores("overlap", overlaps[0] / num_predicted, overlaps[1] / num_gold),
  }


def _best_counts(example, texts):
  """The `_counts` against the annotator who suits the prediction best."""
  predicted = {normalize_answer(text) for text in texts}

  def f1_scores(counts):
    num_predicted, num_gold, exact, *overlaps = counts
    return (
      _f1(exact / num_predicted, exact / num_gold),
      _f1(overlaps[0] / num_predicted, overlaps[1] / num_gold),
    )

  golds = (
    {normalize_answer(span.text) for span in spans}
    for spans in example.annotators
  )
  return max((_counts(gold, predicted) for gold in golds), key=f1_scores)


def _counts(gold, predicted):
  """What one question adds to the sums of `evaluate_multi_span`.

  The predicted spans, the gold spans, the exact matches, and the summed best
  shares of the predicted spans and of the gold spans.
  """
  exact = len(gold & predicted) if gold or predicted else 1
  # As the official evaluator: for overlaps an empty text alone is no answer.
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
  """Characters of the longest run that two texts have in common."""
  # As the official evaluator, whose matcher skips characters that are frequent
  # in a prediction of 200 characters or more.
  matcher = difflib.SequenceMatcher(None, gold, predicted)
  return matcher.find_longest_match(0, len(gold), 0, len(predicted)).size


def _scores(name, precision, recall):
  return {
    f"{name}_precision": 100.0 * float(precision),
    f"{name}_recall": 100.0 * float(recall),
    f"{name}_f1": 100.0 * float(_f1(precision, recall)),
  }


def _f1(precision, recall):
  total = precision + recall
  return 2 * precision * recall / total if total else 0.0
