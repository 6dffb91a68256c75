"""Probabilities against exact matches, as a section."""

import re

import pytest

from bert_span.reporting.calibration_section import (
  calibration_section,
  confidence_of,
)
from bert_span.reporting.question_results import QuestionResult
from bert_span.squad.example import SquadExample


def _result(probability, exact):
  example = SquadExample("q", "Who?", "Ada.")
  prediction = None if probability is None else "Ada"
  return QuestionResult(example, prediction, exact, 0.5, probability)


def test_a_probability_is_compared_with_exact_matches():
  results = [_result(0.9, 1), _result(0.9, 0), _result(0.5, 0), _result(0.1, 0)]
  confidence = confidence_of([*results, _result(None, 0)])
  assert confidence.bins.counts.sum() == 4
  # Bins of 0.9: 2 of 4 questions, 0.9 against 0.5; then 0.5 and 0.1 against 0.
  assert confidence.bins.calibration_error == pytest.approx(
    2 / 4 * 0.4 + 1 / 4 * 0.5 + 1 / 4 * 0.1
  )
  assert confidence.curve.risk.tolist() == pytest.approx([1 / 2, 2 / 3, 3 / 4])


def test_without_predictions_there_is_nothing_to_compare():
  assert confidence_of([_result(None, 0)]) is None


def test_the_plots_come_with_their_numbers():
  confidence = confidence_of(
    [_result(0.9, 1), _result(0.9, 0), _result(0.5, 0), _result(0.1, 0)]
  )
  content = calibration_section(confidence, b"one", b"two").content
  assert content.count('src="data:image/png;base64,') == 2
  assert "error 35.00 percentage points" in content
  rows = [
    re.findall(r">([^<]+)</t[hd]>", row) for row in content.split("<tr>")[1:]
  ]
  assert ["86.7 to 93.3 %", "2", "90.00", "50.00"] in rows
  # 10 and 25 % of the questions are reached with the first two.
  assert [row for row in rows if len(row) == 3 and row[0][0].isdigit()] == [
    ["50.0 %", "90.00", "50.00"],
    ["75.0 %", "50.00", "66.67"],
    ["100.0 %", "10.00", "75.00"],
  ]
