"""Kinds of findings, and reports that count them."""

from bert_span.squad.findings import SEVERITIES, FindingKind, ReadReport

_MOVED, _BLANK = FindingKind.ANSWER_MOVED, FindingKind.BLANK_QUESTION


def test_kinds_are_ordered_by_severity():
  severities = [SEVERITIES.index(kind.severity) for kind in FindingKind]
  assert severities == sorted(severities)
  assert all(kind.fact and kind.remedy.endswith(".") for kind in FindingKind)


def test_a_new_report_is_empty():
  report = ReadReport()
  assert not report
  assert report.lines() == []
  assert report.count(_MOVED) == 0


def test_a_line_counts_all_and_names_the_first_with_details():
  report = ReadReport()
  report.add(_MOVED, "a.json: question 'q1'", "7, now 9")
  where = "(first: a.json: question 'q1': 7, now 9)"
  line = f"1 answer: {_MOVED.fact} {where}. {_MOVED.remedy}"
  assert report.lines() == [line]
  for number in range(2, 13):
    report.add(_MOVED, f"q{number}")
  (line,) = report.lines(num_places=2)
  assert line.startswith("12 answers: ")
  assert "q2" in line
  assert "q3" not in line


def test_the_same_place_counts_once_per_kind():
  report = ReadReport()
  for _ in range(3):
    report.add(_MOVED, "q1")
  report.add(_BLANK, "q1")
  assert (report.count(_MOVED), report.count(_BLANK)) == (1, 1)
