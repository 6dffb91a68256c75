"""Null thresholds of a few questions, counted on paper."""

import pytest

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.scoring.calibration import (
  best_f1_threshold,
  precision_threshold,
)
from bert_span.squad.example import Answer, SquadExample


def _case(*questions):
  """Of rows (gold or "", best span, null odds) the three arguments."""
  examples = [
    SquadExample(f"q{i}", "?", "mill river", (Answer(gold, 0),) if gold else ())
    for i, (gold, _, _) in enumerate(questions)
  ]
  spans = {f"q{i}": span for i, (_, span, _) in enumerate(questions)}
  odds = {f"q{i}": value for i, (_, _, value) in enumerate(questions)}
  return examples, spans, odds


_RIGHT, _WRONG, _NONE = ("mill", "mill"), ("mill", "river"), ("", "mill")


def test_the_best_f1_threshold_lies_between_two_questions():
  case = _case((*_RIGHT, -5.0), (*_RIGHT, -1.0), (*_NONE, 0.0), (*_RIGHT, 4.0))
  # Right after each admission: 1 + 1, 1 + 2, 0 + 2, 0 + 3: the first maximum.
  assert best_f1_threshold(*case) == -0.5


def test_where_all_answers_are_best_the_threshold_is_the_highest_null_odds():
  case = _case((*_NONE, -5.0), (*_RIGHT, -1.0), (*_RIGHT, 2.0))
  assert best_f1_threshold(*case) == 2.0
  no_span = _case(
    (*_NONE, -5.0), (*_RIGHT, -1.0), (*_RIGHT, 2.0), ("mill", "", 1e6)
  )
  assert best_f1_threshold(*no_span) == 2.0


def test_where_no_answer_is_best_the_threshold_is_below_all():
  case = _case((*_NONE, -5.0), (*_WRONG, -2.0), (*_NONE, 1.0))
  assert best_f1_threshold(*case) == -6.0


def test_the_precision_threshold_answers_as_much_as_it_may():
  case = _case(
    *((*_RIGHT, -5.0), (*_NONE, -4.0), (*_RIGHT, -3.0)),
    *((*_RIGHT, -2.0), (*_WRONG, -1.0), (*_WRONG, 0.0)),
  )
  # Precision of the surest 1, 2, ..: 1, 1/2, 2/3, 3/4, 3/5, 3/6.
  assert precision_threshold(*case, 0.75) == -1.5
  assert precision_threshold(*case, 0.6) == -0.5
  assert precision_threshold(*case, 0.9) == -4.5
  assert precision_threshold(*case, 0.0) == 0.0


def test_questions_without_a_span_are_not_answered_by_any_threshold():
  case = _case((*_RIGHT, -5.0), ("", "", NO_SPAN_NULL_ODDS))
  assert precision_threshold(*case, 0.5) == -5.0
  with pytest.raises(ValueError, match="No span is possible in any of the 1"):
    precision_threshold(*_case(("mill", "", NO_SPAN_NULL_ODDS)), 0.5)


def test_a_precision_out_of_reach_is_told_with_the_highest():
  case = _case((*_WRONG, -5.0), (*_RIGHT, -4.0), (*_WRONG, -3.0))
  with pytest.raises(ValueError, match=r"of 0.8 on 3 .* highest is 0.5000"):
    precision_threshold(*case, 0.8)
