"""The table of scores for the terminal."""

from bert_span.reporting.score_table import (
  format_bio_scores,
  format_scores,
  text_table,
)


def _rows(table):
  return [line.split() for line in table.splitlines()]


def test_scores_have_rows_of_questions_and_of_thresholds():
  table = format_scores({"exact_match": 61.249, "f1": 100.0})
  assert _rows(table) == [["exact", "match", "f1"], ["all", "61.25", "100.00"]]
  of_all = {"exact": 66.66666, "f1": 70.0, "total": 3}
  has = {"HasAns_exact": 50.0, "HasAns_f1": 55.0, "HasAns_total": 2}
  no = {"NoAns_exact": 100.0, "NoAns_f1": 100.0, "NoAns_total": 1}
  best = {"best_exact": 67.0, "best_exact_thresh": -1.25}
  best |= {"best_f1": 71.5, "best_f1_thresh": 0.0}
  rows = [
    ["exact", "f1", "questions"],
    ["all", "66.67", "70.00", "3"],
    ["answerable", "50.00", "55.00", "2"],
    ["unanswerable", "100.00", "100.00", "1"],
    ["best", "67.00", "71.50"],
    ["best", "threshold", "-1.250", "0.000"],
  ]
  assert _rows(format_scores(of_all | has)) == rows[:3]
  assert _rows(format_scores(of_all | has | no | best)) == rows


def test_scores_of_several_spans_are_two_rows_and_lines_on_the_tags():
  scores = {"exact_match_precision": 50, "exact_match_recall": 25}
  scores |= {"exact_match_f1": 33.333, "overlap_precision": 60}
  scores |= {"overlap_recall": 40, "overlap_f1": 48}
  table = format_bio_scores({**scores, "tag_cross_entropy": 0.12345})
  assert _rows(table)[1:3] == [
    ["exact", "match", "50.00", "25.00", "33.33"],
    ["partial", "match", "60.00", "40.00", "48.00"],
  ]
  assert table.splitlines()[3].endswith(": 0.1235")


def test_columns_are_aligned_and_texts_are_no_markup():
  rows = [("", "b"), ("[red]a[/red] :+1:", "12"), ("日本", "3")]
  assert text_table(rows).splitlines() == [
    "                    b",
    "[red]a[/red] :+1:  12",
    "日本                3",
  ]
