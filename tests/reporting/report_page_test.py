"""The report as one page."""

import dataclasses
import re

import pytest
from report_samples import CONTEXT

from bert_span.answers.files.prediction_reader import ListedAnswer
from bert_span.reporting.calibration_section import confidence_of
from bert_span.reporting.question_results import QuestionResult
from bert_span.reporting.report_page import MAX_BYTES, Report, report_page
from bert_span.squad.example import Answer, SquadExample


def _wrong(number, context=CONTEXT):
  answers = (Answer(context[:8], 0),)
  example = SquadExample(f"q{number}", f"Which {number}?", context, answers)
  n_best = (ListedAnswer(context[4:12], 0.5, 4, 12),)
  return QuestionResult(
    example, context[4:12], 0, 0.5, 1 / (number + 2), (4, 12), n_best
  )


def _report(results, **fields):
  fields = {
    "sources": {"Questions": "dev.json"},
    "version_2": False,
    "results": results,
    "scores": {"exact_match": 0.0, "f1": 50.0},
    "num_errors": 50,
    "confidence": confidence_of(results),
    "plots": (b"one", b"two"),
    **fields,
  }
  return Report(**fields)


def _anchors(text):
  return re.findall(r'<section id="(.*?)"', text)


def test_sections_follow_what_is_known():
  report = _report([_wrong(0)])
  text, _ = report_page(report)
  assert _anchors(text) == ["overview", "groups", "calibration", "errors"]
  report = dataclasses.replace(report, version_2=True, chosen=_wrong(1))
  text, _ = report_page(report)
  assert _anchors(text) == [
    *("overview", "groups", "no-answer", "calibration", "errors", "tokens"),
  ]
  missing = QuestionResult(_wrong(0).example, None, 0, 0.0)
  text, shown = report_page(_report([missing]))
  assert (_anchors(text), shown) == (["overview", "groups", "errors"], 0)


def test_the_worst_errors_are_shown_and_the_rest_counted():
  results = [_wrong(i) for i in range(60)]
  text, shown = report_page(_report(results, num_errors=7))
  assert shown == text.count("<article") == 7
  assert "7 of 60 questions without an exact match" in text
  assert re.findall(r">(\d)\. Which (\d)\?", text)[:2] == [
    ("1", "0"),
    ("2", "1"),
  ]


def test_notes_on_the_data_are_told():
  text, _ = report_page(_report([_wrong(0)], notes=["1 answer <was> moved."]))
  assert "<li>1 answer &lt;was&gt; moved.</li>" in text


def test_errors_are_left_out_until_the_page_is_small_enough():
  results = [_wrong(i) for i in range(64)]
  whole, shown = report_page(_report(results, num_errors=64))
  assert shown == 64
  text, shown = report_page(
    _report(results, num_errors=64), len(whole.encode()) - 1
  )
  assert shown == text.count("<article") == 32
  assert "32 of 64 questions without an exact match" in text
  with pytest.raises(ValueError, match=r"more than 1,000.*--question_id"):
    report_page(_report(results), 1000)


def test_long_texts_make_no_page_of_5_megabytes():
  context = "Ärger " * 200_000  # 1.4 MB each
  results = [_wrong(i, context) for i in range(500)]
  text, shown = report_page(_report(results, num_errors=500))
  assert shown == 500
  assert len(text.encode()) < MAX_BYTES
