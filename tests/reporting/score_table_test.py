"""Scores as tables for the terminal."""

from bert_span.reporting.score_table import (
  format_bio_scores,
  format_calibration,
  format_scores,
  text_table,
)
from bert_span.scoring.reliability import risk_coverage


def test_columns_are_aligned_and_texts_are_no_markup():
  rows = [("", "b"), ("[red]a[/red] :+1:", "12"), ("日本", "3")]
  assert text_table(rows).splitlines() == [
    "                    b",
    "[red]a[/red] :+1:  12",
    "日本                3",
  ]


def _cells(text):
  return [line.split() for line in text.splitlines()]


def test_squad1_has_two_scores():
  assert format_scores({"exact_match": 61.544, "f1": 72.2}).splitlines() == [
    "     exact match     f1",
    "all        61.54  72.20",
  ]


def test_squad2_has_a_row_for_each_kind_that_occurs_and_the_best_thresholds():
  scores = {"exact": 50.0, "f1": 60.0, "total": 4}
  scores |= {"NoAns_exact": 25.0, "NoAns_f1": 25.0, "NoAns_total": 2}
  rows = [
    ["exact", "f1", "questions"],
    ["all", "50.00", "60.00", "4"],
    ["unanswerable", "25.00", "25.00", "2"],
  ]
  assert _cells(format_scores(scores)) == rows
  scores |= {"best_exact": 55.0, "best_f1": 65.0}
  scores |= {"best_exact_thresh": -1.25, "best_f1_thresh": 0.5}
  assert _cells(format_scores(scores)) == [
    *rows,
    ["best", "55.00", "65.00"],
    ["best", "threshold", "-1.250", "0.500"],
  ]


def test_scores_of_spans_have_those_of_tags_below_if_there_are_any():
  ratios = "precision", "recall", "f1"
  scores = {f"exact_match_{name}": 10.0 + i for i, name in enumerate(ratios)}
  scores |= {f"overlap_{name}": 20.0 + i for i, name in enumerate(ratios)}
  rows = [
    [*ratios],
    ["exact", "match", "10.00", "11.00", "12.00"],
    ["partial", "match", "20.00", "21.00", "22.00"],
  ]
  assert _cells(format_bio_scores(scores)) == rows
  lines = format_bio_scores(scores | {"tag_cross_entropy": 0.12346})
  assert lines.splitlines()[3:] == [
    "cross-entropy of the tags, in nats per token: 0.1235"
  ]


def test_a_calibration_is_shown_before_and_after():
  before = {"exact": 50.0, "f1": 60.0, "num_answered": 7}
  before |= dict.fromkeys(
    ("expected_calibration_error", "equal_mass_calibration_error"), 0.125
  )
  before["risk_coverage"] = risk_coverage([0.5], [0.75])
  after = before | {"num_answered": 5, "expected_calibration_error": 0.0625}
  numbers = [row[-2:] for row in _cells(format_calibration(before, after))]
  assert numbers == [
    *(["before", "after"], ["50.00", "50.00"], ["60.00", "60.00"]),
    *(["7", "5"], ["0.1250", "0.0625"], ["0.1250", "0.1250"]),
    ["0.2500", "0.2500"],
  ]
