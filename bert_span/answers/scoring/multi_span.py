"""Precision, recall and F1 of sets of spans, as MultiSpanQA scores them."""

import dataclasses
import difflib

from absl import logging

from bert_span.answers.files import prediction_ids
from bert_span.answers.scoring.answer_match import normalize_answer


@dataclasses.dataclass(frozen=True)
class _Counts:
  """What one question adds to the sums, for precision and for recall."""

  num_predicted: int
  num_gold: int
  exact: int
  overlap_predicted: float
  overlap_gold: float

  @property
  def exact_f1(self):
    return _f1(self.exact / self.num_predicted, self.exact / self.num_gold)

  @property
  def overlap_f1(self):
    return _f1(
      self.overlap_predicted / self.num_predicted,
      self.overlap_gold / self.num_gold,
    )


def evaluate_multi_span(examples, predictions):
  """Scores sets of spans as the official evaluator of MultiSpanQA.

  Texts are normalized as SQuAD's are, and equal ones of a question count once.

      exact match    a predicted span counts 1 if it is a gold span
      partial match  a predicted span counts the greatest share of its
                     characters that is one run of a gold span too (precision),
                     a gold span the greatest share of its own (recall)

  Both are summed over all questions before precision and recall are taken; a
  question without a span counts as one span on that side. Where several
  annotators answered, each question counts with the annotator whose spans suit
  the prediction best, by the F1 of exact match, then of partial match.

  Example: gold {"old mill", "river"}, predicted {"the old mill house"}, which
  is "old mill house" when normalized: no exact match; precision 8/14 for
  "old mill", recall (8/8 + 1/5) / 2, for the longest run of "river" is one
  letter.

  Args:
    examples: SquadExamples, each with an annotator.
    predictions: list of predicted texts by question id, [] for no answer.

  Returns:
    A dict with exact_match_precision, exact_match_recall, exact_match_f1,
    overlap_precision, overlap_recall, overlap_f1, in percent.

  Raises:
    ValueError: there are no questions, or some have no annotator.

  Source: Li et al. 2022, MultiSpanQA, section 5, and its eval_script.py.
  """
  prediction_ids.require_questions(examples)
  _require_annotators(examples)
  _warn_about_missing(examples, predictions)
  prediction_ids.warn_about_unknown_ids(examples, predictions, "predictions")
  counts = [
    _best_counts(example, predictions.get(example.qas_id, []))
    for example in examples
  ]
  num_predicted = sum(c.num_predicted for c in counts)
  num_gold = sum(c.num_gold for c in counts)
  exact = sum(c.exact for c in counts)
  return {
    **_scores("exact_match", exact / num_predicted, exact / num_gold),
    **_scores(
      "overlap",
      sum(c.overlap_predicted for c in counts) / num_predicted,
      sum(c.overlap_gold for c in counts) / num_gold,
    ),
  }


def _best_counts(example, texts):
  """The counts against the annotator who suits the prediction best."""
  predicted = {normalize_answer(text) for text in texts}
  counts = [
    _counts({normalize_answer(span.text) for span in spans}, predicted)
    for spans in example.annotators
  ]
  return max(counts, key=lambda c: (c.exact_f1, c.overlap_f1))


def _counts(gold, predicted):
  """Counts of one set of spans against another."""
  exact = len(gold & predicted)
  overlap_predicted, overlap_gold = _overlaps(gold, predicted)
  if not gold and not predicted:
    exact = 1
  return _Counts(
    num_predicted=max(len(predicted), 1),
    num_gold=max(len(gold), 1),
    exact=exact,
    overlap_predicted=overlap_predicted,
    overlap_gold=overlap_gold,
  )


def _overlaps(gold, predicted):
  """Summed best shares of the predicted and of the gold spans."""
  # As the official evaluator: an empty text alone is no answer here too.
  is_empty = not predicted or predicted == {""}
  if not gold or is_empty:
    both = float(not gold and is_empty)
    return both, both
  runs = {(g, p): _longest_run(g, p) for g in gold for p in predicted}

  def share(run, text):
    return run / len(text) if text else 0.0

  return (
    sum(max(share(runs[g, p], p) for g in gold) for p in predicted),
    sum(max(share(runs[g, p], g) for p in predicted) for g in gold),
  )


def _longest_run(gold, predicted):
  """Characters of the longest run that two texts have in common."""
  # As the official evaluator, whose matcher passes over characters that are
  # frequent in a prediction of 200 characters or more.
  matcher = difflib.SequenceMatcher(None, gold, predicted)
  return matcher.find_longest_match(0, len(gold), 0, len(predicted)).size


def _scores(name, precision, recall):
  return {
    f"{name}_precision": 100.0 * precision,
    f"{name}_recall": 100.0 * recall,
    f"{name}_f1": 100.0 * _f1(precision, recall),
  }


def _f1(precision, recall):
  total = precision + recall
  return 2 * precision * recall / total if total else 0.0


def _require_annotators(examples):
  unanswered = [e.qas_id for e in examples if not e.annotators]
  if unanswered:
    raise ValueError(
      "Scores of several spans need at least one annotator for every question. "
      "Received questions without one: "
      f"{prediction_ids.shorten_ids(unanswered)}. Add their annotations or "
      "answers, or mark them with is_impossible."
    )


def _warn_about_missing(examples, predictions):
  missing = prediction_ids.missing_ids(examples, predictions)
  if missing:
    logging.warning(
      "%d of %d questions have no prediction and count as not answered: %s",
      len(missing),
      len(examples),
      prediction_ids.shorten_ids(missing),
    )
