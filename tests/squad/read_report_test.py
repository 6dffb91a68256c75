from bert_span.squad.read_report import Notice, ReadReport

_MOVED = Notice("answer moved", "answers moved", "Correct it.")
_BLANK = Notice("question is blank", "questions are blank", "Fill it in.")


def test_a_new_report_is_empty():
  report = ReadReport()
  assert not report
  assert report.lines() == []
  assert report.count(_MOVED) == 0


def test_one_occurrence_is_told_in_the_singular_with_its_detail():
  report = ReadReport()
  report.add(_MOVED, "a.json: question 'q1'", "7, now 9")
  assert report.lines() == [
    "1 answer moved (first: a.json: question 'q1': 7, now 9). Correct it."
  ]


def test_a_line_counts_all_and_names_the_first():
  report = ReadReport()
  for number in range(12):
    report.add(_MOVED, f"q{number}")
  assert report.lines(num_places=2) == [
    "12 answers moved (first: q0; q1). Correct it."
  ]


def test_the_same_place_counts_once_per_notice():
  report = ReadReport()
  for _ in range(3):
    report.add(_MOVED, "q1")
  report.add(_BLANK, "q1")
  assert (report.count(_MOVED), report.count(_BLANK)) == (1, 1)


def test_merging_keeps_both_and_changes_neither():
  one, two = ReadReport(), ReadReport()
  one.add(_MOVED, "a")
  two.add(_MOVED, "b")
  two.add(_BLANK, "b")
  both = one.merged(two)
  assert both.places(_MOVED) == ["a", "b"]
  assert both.count(_BLANK) == 1
  assert (one.count(_MOVED), one.count(_BLANK), two.count(_MOVED)) == (1, 0, 1)
