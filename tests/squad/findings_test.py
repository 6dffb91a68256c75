"""The kinds of findings, and their lines in a report."""

from bert_span.squad.findings import (
  SEVERITIES,
  FindingKind,
  ReadReport,
  counted,
)

_MOVED, _BLANK = FindingKind.ANSWER_MOVED, FindingKind.BLANK_QUESTION


def test_kinds_are_ordered_by_severity():
  severities = [SEVERITIES.index(kind.severity) for kind in FindingKind]
  assert severities == sorted(severities)
  assert all(kind.fact and kind.remedy.endswith(".") for kind in FindingKind)


def test_a_line_counts_each_place_once_and_names_the_first_with_details():
  report = ReadReport()
  assert not report and report.lines() == [] and report.count(_MOVED) == 0
  for _ in range(3):
    report.add(_MOVED, "a.json: question 'q1'", "7, now 9")
  where = "(first: a.json: question 'q1': 7, now 9)"
  line = f"1 answer: {_MOVED.fact} {where}. {_MOVED.remedy}"
  assert report.lines() == [line]
  for number in range(2, 13):
    report.add(_MOVED, f"q{number}")
  report.add(_BLANK, "q1")
  line, _ = report.lines(num_places=2)
  assert line.startswith("12 answers: ") and "q2" in line and "q3" not in line
  assert (report.count(_MOVED), report.count(_BLANK)) == (12, 1)


def test_a_count_has_its_noun_in_the_singular_for_one_only():
  assert [counted(n, "word") for n in (0, 1, 1204)] == [
    *("0 words", "1 word", "1,204 words"),
  ]
