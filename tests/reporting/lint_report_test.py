import json

from bert_span.reporting.lint_report import (
  count_left,
  length_summary,
  report_object,
  report_text,
  summaries,
)
from bert_span.reporting.linter import LintedFile
from bert_span.squad.example import SquadExample
from bert_span.squad.findings import Finding, FindingKind


def _moved(number):
  path = f"data[0].paragraphs[0].qas[{number}].answers[0]"
  detail, qas_id = "'Bees' is not at answer_start 3", f"q{number}"
  place = f"question '{qas_id}', answer 0"
  return Finding(FindingKind.ANSWER_MOVED, place, detail, qas_id, path, 0)


def _duplicate(number):
  return Finding(FindingKind.DUPLICATE_ID, f"question 'd{number}'")


def _report(findings, repair=None):
  one, two = (SquadExample("q", "Who?", "Bees.", (), x) for x in (False, True))
  linted = LintedFile("bees.json", [], (one, two), (), True, 1, 1)
  return report_object(linted, findings, {}, None, repair)


def test_errors_come_first_and_are_all_named_while_others_are_cut():
  findings = [_moved(n) for n in range(9)] + [_duplicate(n) for n in range(9)]
  findings.append(Finding(FindingKind.INTEGER_ID, "question '7'"))
  text = report_text(_report(findings), num_places=2)
  assert text.splitlines()[:2] == [
    "bees.json: SQuAD 2.0, 1 article, 1 passage, 2 questions (1 unanswerable)",
    "9 errors, 9 warnings, 1 note.",
  ]
  assert text.index("ERROR: 9 questions: ") < text.index("WARNING: 9")
  assert "question 'd8'" in text
  assert "question 'q1', answer 0: 'Bees' is not at answer_start 3" in text
  assert "question 'q2'" not in text
  assert "  and 7 more\n" in text


def test_what_is_repaired_counts_no_more():
  repair = {"output_file": "b.json", "log_file": "b.jsonl", "changes": 2}
  findings = [_moved(1), _moved(2), _duplicate(1)]
  report = _report(findings)
  assert (count_left(report, "warning"), count_left(report, "error")) == (2, 1)
  report = _report(findings, repair=repair)
  assert (count_left(report, "warning"), count_left(report, "error")) == (0, 1)
  assert report["counts"]["warning"] == 2
  last = report_text(report).split("\n\n")[-1]
  assert "b.json," in last and last.endswith("by hand: 1.")


def test_the_object_has_its_documented_keys():
  value = json.loads(json.dumps(_report([_moved(1), _duplicate(1)])))
  assert " ".join(value) == (
    "file format articles passages questions unanswerable counts findings "
    "settings figures repair"
  )
  _, moved = value["findings"]
  assert moved["kind"] == "answer_moved"
  assert moved["places"] == [
    {
      "place": "question 'q1', answer 0",
      "detail": "'Bees' is not at answer_start 3",
      "question_id": "q1",
      "path": "data[0].paragraphs[0].qas[1].answers[0]",
      "repair": 0,
    }
  ]


def test_a_percentile_is_the_least_length_that_so_many_do_not_exceed():
  summary = length_summary(range(1, 101))
  assert list(summary) == ["count", "mean", "p50", "p90", "p95", "p99", "max"]
  assert list(summary.values()) == [100, 50.5, 50, 90, 95, 99, 100]
  summary = length_summary([2, 10, 1000])  # lengths that occur
  assert (summary["p50"], summary["p90"], summary["max"]) == (10, 1000, 1000)
  assert list(summaries(question=[3], answer=[])) == ["question"]
