import json

from bert_span.squad.example import SquadExample
from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.lint.lint_report import (
  cost_table,
  count_left,
  length_summary,
  report_object,
  report_text,
  summaries,
)
from bert_span.squad.lint.linter import LintedFile

_COST = {
  "max_seq_length": 384,
  "windows": 12_032,
  "answerless_windows": 105,
  "answers_cut": 0,
  "wordpieces": 1_900_000,
  "padded_wordpieces": 4_620_288,
  "bucket_wordpieces": 2_000_000,
  "bucket_cost": 1.0,
  "padded_cost": 2.31,
}
_UNKNOWN = {
  "tokens": 1000,
  "unknown_tokens": 12,
  "token_share": 0.012,
  "characters": 5000,
  "unknown_characters": 20,
  "character_share": 0.004,
  "distinct_characters": 1,
  "distinct_words": 7,
  "most_frequent_characters": [
    {"text": "\u0301", "count": 9, "question_id": "q1"}
  ],
  "most_frequent_words": [
    {"text": "5½" * n, "count": 7 - n, "question_id": "q2"} for n in range(1, 7)
  ],
}
_FIGURES = {
  "characters": {"question": length_summary([10, 20, 3000])},
  "wordpieces": {"question": length_summary([4])},
  "windows_per_question": length_summary([1, 2]),
  "max_seq_lengths": [_COST, {**_COST, "max_seq_length": 512}],
  "unknown": _UNKNOWN,
}
_SETTINGS = {
  "max_seq_length": 384,
  "doc_stride": 128,
  "max_query_length": 64,
  "length_bucket": 32,
  "hidden_size": 768,
}


def _moved(number):
  place = f"question 'q{number}', answer 0"
  detail = "'Bees' is not at answer_start 3"
  path = f"data[0].paragraphs[0].qas[{number}].answers[0]"
  ids = f"q{number}", path, 0
  return Finding(FindingKind.ANSWER_MOVED, place, detail, *ids)


def _duplicate(number):
  return Finding(FindingKind.DUPLICATE_ID, f"question 'd{number}'")


def _report(findings, figures=_FIGURES, settings=_SETTINGS, repair=None):
  examples = (
    SquadExample("q1", "Who?", "Bees."),
    SquadExample("q2", "Who?", "Bees.", (), True),
  )
  linted = LintedFile("bees.json", [], examples, (), True, 1, 1)
  return report_object(linted, findings, figures, settings, repair)


def test_errors_come_first_and_are_all_named_while_others_are_cut():
  findings = [_moved(n) for n in range(9)] + [_duplicate(n) for n in range(9)]
  findings.append(Finding(FindingKind.INTEGER_ID, "question '7'"))
  text = report_text(_report(findings, {}, None), num_places=2)
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
  assert list(value) == [
    *("file", "format", "articles", "passages", "questions", "unanswerable"),
    *("counts", "findings", "settings", "figures", "repair"),
  ]
  assert value["format"] == "2.0"
  assert value["counts"] == {"error": 1, "warning": 1, "note": 0}
  duplicate, moved = value["findings"]
  assert (duplicate["kind"], moved["kind"]) == ("duplicate_id", "answer_moved")
  assert moved["places"] == [
    {
      "place": "question 'q1', answer 0",
      "detail": "'Bees' is not at answer_start 3",
      "question_id": "q1",
      "path": "data[0].paragraphs[0].qas[1].answers[0]",
      "repair": 0,
    }
  ]


def test_figures_have_a_row_each_and_the_chosen_length_a_mark():
  text = report_text(_report([]))
  lines = [" ".join(line.split()) for line in text.splitlines()]
  cost = "12,032 105 0 2.00M 5 % 4.62M 59 % 1.00 2.31"
  for line in (
    "question, WordPieces 1 4.0 4 4 4 4 4",
    "question, characters 3 1,010.0 20 3,000 3,000 3,000 3,000",
    "question, windows 2 1.5 1 2 2 2 2",
    f"384 < {cost}",
    f"512 {cost}",
    "9 '\u0301' U+0301, first in question 'q1'",
    "7 longer unknown words, the most frequent:",
    "6 '5½', first in question 'q2'",
  ):
    assert line in lines
  assert "[UNK]: 1.20 % of WordPieces (12 of 1,000), 0.40 % of" in text
  # Without windows there is no share of padding.
  nothing = {**dict.fromkeys(_COST, 0), "max_seq_length": 384}
  table = cost_table({"max_seq_lengths": [nothing]}, _SETTINGS)
  assert "384 < 0 0 0 0 0 0.00 0.00" in " ".join(table.split())


def test_a_percentile_is_the_least_length_that_so_many_do_not_exceed():
  summary = length_summary(range(1, 101))
  assert list(summary) == ["count", "mean", "p50", "p90", "p95", "p99", "max"]
  assert list(summary.values()) == [100, 50.5, 50, 90, 95, 99, 100]
  summary = length_summary([2, 10, 1000])  # lengths that occur
  assert (summary["p50"], summary["p90"], summary["max"]) == (10, 1000, 1000)
  assert list(summaries(question=[3], answer=[])) == ["question"]
