import json

import pytest
from lint_figures import FIGURES, SETTINGS

from bert_span.squad.example import SquadExample
from bert_span.squad.lint import findings as kinds
from bert_span.squad.lint.findings import Finding
from bert_span.squad.lint.lint_report import (
  LintReport,
  report_object,
  report_text,
)
from bert_span.squad.lint.linter import LintedFile


def _moved(number):
  return Finding(
    kinds.ANSWER_MOVED,
    f"question 'q{number}', answer 0",
    "'Bees' is not at answer_start 3",
    f"q{number}",
    f"data[0].paragraphs[0].qas[{number}].answers[0]",
    0,
  )


def _duplicate(number):
  return Finding(kinds.DUPLICATE_ID, f"question 'd{number}'")


def _report(findings, figures=FIGURES, settings=SETTINGS, repair=None):
  examples = (
    SquadExample("q1", "Who?", "Bees."),
    SquadExample("q2", "Who?", "Bees.", (), True),
  )
  linted = LintedFile("bees.json", [], examples, (), True, 1, 1)
  return LintReport(linted, findings, figures, settings, repair)


def test_the_head_counts_file_and_findings():
  lines = report_text(_report([_moved(1), _moved(2)])).splitlines()
  assert lines[:2] == [
    "bees.json: SQuAD 2.0, 1 article, 1 passage, 2 questions (1 unanswerable)",
    "0 errors, 2 warnings, 0 notes.",
  ]


def test_errors_come_first_and_are_all_named_while_others_are_cut():
  findings = [_moved(n) for n in range(9)] + [_duplicate(n) for n in range(9)]
  findings.append(Finding(kinds.INTEGER_ID, "question '7'"))
  text = report_text(_report(findings, {}, None), num_places=2)
  assert text.index("ERROR: 9 questions have the id") < text.index("WARNING: 9")
  assert "question 'd8'" in text
  assert "question 'q1', answer 0: 'Bees' is not at answer_start 3" in text
  assert "question 'q2'" not in text
  assert "  and 7 more\n" in text
  assert "NOTE: 1 id is an integer.\n-> " in text
  assert f"-> {kinds.DUPLICATE_ID.remedy[:30]}" in text


def test_no_places_are_named_where_none_are_asked_for():
  text = report_text(_report([_moved(1)], {}, None), num_places=0)
  assert "q1" not in text
  assert "1 answer is not at its answer_start" in text


def test_lines_but_places_fit_eighty_columns():
  text = report_text(_report([_moved(1), _duplicate(1)]))
  long = [line for line in text.splitlines() if len(line) > 80]
  assert all(line.startswith("  question") for line in long)


def test_without_a_vocabulary_the_text_says_what_was_not_checked():
  figures = {"characters": FIGURES["characters"]}
  text = report_text(_report([], figures, settings=None))
  assert "Not checked without a vocabulary" in text
  assert "--vocab_file" in text
  assert "MAX_SEQ" not in text


def test_a_file_that_cannot_be_read_has_its_error_and_nothing_more():
  finding = Finding(kinds.UNREADABLE, "", "the file is empty.")
  text = report_text(LintReport(LintedFile("a.json", [finding]), [finding], {}))
  assert text.splitlines() == [
    "a.json",
    "1 error, 0 warnings, 0 notes.",
    "",
    "ERROR: 1 file cannot be read as SQuAD JSON.",
    "  the file is empty.",
    "-> Nothing else was checked.",
  ]


def test_what_is_repaired_counts_no_more():
  repair = {"output_file": "b.json", "log_file": "b.jsonl", "changes": 2}
  findings = [_moved(1), _moved(2), _duplicate(1)]
  report = _report(findings)
  assert (report.count_left("warning"), report.count_left("error")) == (2, 1)
  report = _report(findings, repair=repair)
  assert (report.count_left("warning"), report.count_left("error")) == (0, 1)
  assert report.count("warning") == 2
  text = " ".join(report_text(report).split())
  assert "2 changes made in b.json, logged in b.jsonl." in text
  assert text.endswith("left to people: 1.")


@pytest.mark.parametrize("settings", [None, SETTINGS])
def test_the_object_has_its_documented_keys(settings):
  report = _report([_moved(1), _duplicate(1)], settings=settings)
  value = json.loads(json.dumps(report_object(report)))
  assert list(value) == [
    *("file", "format", "articles", "passages", "questions", "unanswerable"),
    *("counts", "findings", "settings", "figures", "repair"),
  ]
  assert value["format"] == "2.0"
  assert value["counts"] == {"error": 1, "warning": 1, "note": 0}
  assert [f["kind"] for f in value["findings"]] == [
    *("duplicate_id", "answer_moved")
  ]
  moved = value["findings"][1]
  assert moved["message"].startswith("1 answer is not at its answer_start")
  assert moved["places"] == [
    {
      "place": "question 'q1', answer 0",
      "detail": "'Bees' is not at answer_start 3",
      "question_id": "q1",
      "path": "data[0].paragraphs[0].qas[1].answers[0]",
      "repair": 0,
    }
  ]
  assert value["settings"] == settings
