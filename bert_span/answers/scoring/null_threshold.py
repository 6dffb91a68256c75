"""The null odds above which "no answer" is the better answer.

Both thresholds lie halfway between the null odds of two questions, so that a
score that differs in its last digits, as on another machine, decides alike.
"""

import numpy as np

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.scoring.reliability import risk_coverage
from bert_span.answers.scoring.squad2 import evaluate_squad2, score_question


def best_f1_threshold(examples, best_spans, null_odds):
  """The threshold with the best F1 of SQuAD 2.0.

  Args:
    examples: list of `SquadExample`.
    best_spans: dict of question id to the text of its best span, whether or
      not it is the answer; "" where no span is possible.
    null_odds: dict of question id to null odds, see `Prediction`.

  Returns:
    float; below all null odds where "no answer" to everything is best.
  """
  scores = evaluate_squad2(examples, best_spans, null_odds)
  odds = np.array(list(null_odds.values()))
  without_answers = 100 * sum(not e.answers for e in examples) / len(examples)
  if scores["best_f1"] <= without_answers + 1e-9:
    # The official search then gives 0.0, meant for probabilities.
    return float(odds.min()) - 1
  return _above(scores["best_f1_thresh"], odds)


def precision_threshold(examples, best_spans, null_odds, target):
  """The threshold that answers most while enough of the answers are right.

  Args:
    examples, best_spans, null_odds: see `best_f1_threshold`.
    target: float, the share of the given answers that must be right, by exact
      match; an answer to an unanswerable question is wrong.

  Returns:
    float.

  Raises:
    ValueError: no threshold reaches the share.
  """
  answered = [e for e in examples if null_odds[e.qas_id] < NO_SPAN_NULL_ODDS]
  if not answered:
    raise ValueError(
      f"No span is possible in any of the {len(examples)} questions, so that "
      "no threshold gives an answer. Check the passages."
    )
  odds = np.array([null_odds[e.qas_id] for e in answered])
  exact = [score_question(e, best_spans[e.qas_id]).exact for e in answered]
  curve = risk_coverage(-odds, exact)
  precision = 1 - curve.risk
  reaches = np.flatnonzero(precision >= target)
  if not len(reaches):
    raise ValueError(
      f"No threshold reaches a precision of {target:g} on {len(examples)} "
      f"questions: the highest is {precision.max():.4f}. Give a lower "
      "--target_precision."
    )
  return _above(-curve.threshold[reaches[-1]], odds)


def _above(threshold, null_odds):
  """Halfway to the next higher null odds of a question with a span."""
  higher = null_odds[(null_odds > threshold) & (null_odds < NO_SPAN_NULL_ODDS)]
  if not higher.size:
    return float(threshold)
  return float((threshold + higher.min()) / 2)
