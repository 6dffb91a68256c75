"""The report as one page."""

import base64
import hashlib
import html
import math
import re

import numpy as np
import pytest

from bert_span.answers.answer import Answer
from bert_span.answers.decoding.answer_decoder import NO_LOGIT
from bert_span.answers.window_logits import WindowLogits
from bert_span.reporting.question_results import QuestionResult
from bert_span.squad.example import AnswerSpan, SquadExample

pytest.importorskip("jinja2", reason="pip install -e '.[report]'")
pytest.importorskip("matplotlib", reason="pip install -e '.[report]'")
from bert_span.reporting import calibration_plots, report_page

_CONTEXT = "Ada met Bea & Cleo."
_HOSTILE = '<script>a</script><img src=x onerror="b">"\'></mark>&lt;b&gt;'


@pytest.fixture(autouse=True)
def _quick_plots(monkeypatch):
  """Drawing takes most of a page's time and is tested beside the plots."""
  monkeypatch.setattr(calibration_plots, "png_bytes", lambda _: b"\x89PNG")


def _entry(text, probability):
  return Answer(text, None, None, None, probability)


def _result(
  golds=("Bea",), prediction="Ada", probability=0.75, question="Whom?"
):
  answers = tuple(AnswerSpan(text, _CONTEXT.find(text)) for text in golds)
  example = SquadExample("q1", question, _CONTEXT, answers, not golds, "People")
  n_best = (_entry(prediction, 0.75), _entry("Cleo", 0.25))
  span = (0, len(prediction)) if prediction else None
  exact = int(prediction in golds or (not golds and not prediction))
  scores = exact, 0.4, probability
  return QuestionResult(example, prediction, *scores, span, n_best)


_MISSING = QuestionResult(_result().example, None, 0, 0.0)
_SCORES = {"exact_match": 61.54, "f1": 72.268}


def _page(*results, sources=(), version_2=False, **fields):
  sources = dict(sources)
  report = report_page.Report(sources, version_2, results, _SCORES, **fields)
  return report_page.report_page(report)[0]


def _tiles(page):
  return dict(re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd>", page))


def _text(content):
  return html.unescape(re.sub(r"<[^>]*>", "", content))


def _rows(page, caption):
  """The texts of a table's cells, row by row."""
  table = page.partition(f"<caption>{caption}</caption>")[2]
  table = table.partition("</table>")[0]
  rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
  cells = (re.findall(r"<t[hd] .*?</t[hd]>", row) for row in rows)
  return [list(map(_text, row)) for row in cells]


def _paragraph(page, name):
  (text,) = re.findall(f'<p class="{name}" dir="auto">(.*?)</p>', page)
  return text


def test_sections_and_scores_depend_on_the_data():
  """jobs/report_test.py has a page with all of them."""
  page = _page(_MISSING, notes=["a\0b\x1b\x85\ud800c\td\n"])
  sections = re.findall(r'<section id="(.*?)"', page)
  assert sections == ["overview", "groups", "errors"]
  assert re.findall(r'<a href="#(\w+)">[A-Z]', page) == sections
  assert _tiles(page) == {"EM": "61.54", "F1": "72.27", "Questions": "1"}
  assert re.search(r"1 question\s+without a prediction", page)
  # What HTML or UTF-8 cannot hold is replaced.
  assert "<li>a\ufffdb\ufffd\ufffd\ufffdc\td\n</li>" in page


def test_groups_have_tables_whose_numbers_sort_by_their_value():
  page = _page(*[_result()] * 1234)
  (row,) = _rows(page, "Question word")
  assert row == ["who", "1,234", "0.00", "40.00", "75.00"]
  assert 'data-value="1234">1,234</td>' in page
  assert 'data-value="40.0" style="--share:40.0%">40.00</td>' in page
  assert "need the model" in page
  page = _page(_result(()), _MISSING, num_windows=[1, 3])
  assert '<td data-label="Probability" class="number">–</td>' in page
  rows = _rows(page, "Windows of the passage")
  assert [row[-1] for row in rows] == ["75.00", "–"]
  assert "need the model" not in page


def test_the_confusion_of_no_answer_has_its_rates():
  results = [
    *[_result(("Ada",))] * 5,
    *[_result(prediction="")] * 1,
    *[_result(())] * 2,
    *[_result((), "")] * 3,
  ]
  page = _page(*results, version_2=True)
  assert _rows(page, "Questions by whether they have an answer") == [
    ["answerable", "5", "1"],
    ["unanswerable", "2", "3"],
  ]
  assert re.search(r"right in\s+75\.0 %", page)
  assert re.search(r"for\s+60\.0 %", page)


def test_probabilities_are_compared_with_exact_matches():
  page = _page(
    _result(("Ada",), probability=0.9),
    _result(probability=0.9),
    _result(probability=0.5),
    _result(probability=0.1),
    _MISSING,
  )
  assert page.count('src="data:image/png;base64,iVBOR') == 2
  # 0.9 twice with one right, 0.5 and 0.1 with none:
  # 2 / 4 * 0.4 + 1 / 4 * 0.5 + 1 / 4 * 0.1
  assert _tiles(page)["Calibration error"] == "35.00"
  assert ["86.7 to 93.3 %", "2", "90.00", "50.00"] in _rows(page, "Reliability")
  # 10 and 25 % of the questions are reached with the first two.
  assert _rows(page, "Risk and coverage") == [
    ["50.0 %", "90.00", "50.00"],
    ["75.0 %", "50.00", "66.67"],
    ["100.0 %", "10.00", "75.00"],
  ]


def test_an_error_has_its_question_answers_n_best_list_and_passage():
  page = _page(_result(("Bea", "Bea", "Bea & Cleo")))
  assert "1. Whom?</h3>" in page
  assert '<dd dir="auto">Bea; Bea &amp; Cleo</dd>' in page
  assert re.findall(r'<li dir="auto">(.*?) <', page) == ["Ada", "Cleo"]
  (row,) = _rows(page, "List of errors")
  assert row == ["1", "Whom?", "Bea; Bea & Cleo", "Ada", "40.00", "75.00"]
  assert '<a href="#error-1">1</a>' in page
  assert _paragraph(_page(_result()), "passage") == (
    '<mark class="model" data-label="model">Ada</mark> met '
    '<mark class="annotators" data-label="annotators">Bea</mark> &amp; Cleo.'
  )
  page = _page(_result([f"a{i}" for i in range(9)], ""))
  assert "a4; and 4 more</dd>" in page
  assert _paragraph(page, "passage") == "Ada met Bea &amp; Cleo."
  assert page.count("(no answer)") == 3  # table, model, its list


def test_the_worst_errors_are_shown_as_far_as_the_page_stays_small():
  results = [
    _result(probability=1 / (i + 2), question=f"Which {i}?") for i in range(8)
  ]
  report = report_page.Report({}, False, results, _SCORES)
  whole, shown = report_page.report_page(report, num_errors=8)
  assert shown == 8
  numbers = re.findall(r">(\d)\. Which (\d)\?", whole)
  assert numbers[:2] == [("1", "0"), ("2", "1")]
  size = len(whole.encode())
  page, shown = report_page.report_page(report, 8, max_bytes=size - 1)
  assert shown == page.count("<article") == 4
  assert "4 of 8 questions" in page
  with pytest.raises(ValueError, match=r"1,000.* question_id"):
    report_page.report_page(report, 8, max_bytes=1000)


def _window(*tokens, number=0):
  scores = 3.5 - number, (0.25, 0.125)
  return report_page.WindowProbabilities(number, *scores, [*tokens])


def _tokens_page(context, windows):
  chosen = QuestionResult(SquadExample("q", "Who?", context), "", 0, 0.0, 1.0)
  return _page(_MISSING, chosen=chosen, windows=windows)


def test_probable_tokens_of_the_best_windows_have_bars():
  window = _window((0, 3, 0.5, 0.25), (5, 9, 0.0, 0.0), (9, 10, 0.001, 0.0))
  page = _tokens_page("Ada  came.", [window])
  assert _text(_paragraph(page, "tokens")) == "Ada  came."
  assert page.count('class="token"') == 1
  assert '<i class="start" style="height:50%">' in page
  assert '<i class="end" style="height:25%">' in page
  assert _rows(page, "Most probable starts and ends, in percent") == [
    ["[CLS] (no answer)", "–", "25.00", "12.50"],
    ["Ada", "0", "50.00", "25.00"],
    [".", "9", "0.10", "0.00"],
    ["came", "5", "0.00", "0.00"],
  ]
  # "½" gives 1, ⁄ and 2, all of that character, which is shown once.
  offsets = [(0, 1), *[(2, 3)] * 3, (4, 5)]
  window = _window(*((*token, 0.5, 0.5) for token in offsets))
  page = _tokens_page("a ½ b", [window])
  assert _text(_paragraph(page, "tokens")) == "a ½ b"
  # Few windows are shown, and the others counted.
  windows = [_window((0, 3, 0.5, 0.5), number=n) for n in range(1_200)]
  page = _tokens_page("Ada", windows)
  assert page.count("<summary>Window") == 3
  assert "Window 1 of 1,200: best start + end logit 3.50" in page
  assert "1,197 windows" in page


def test_no_text_is_html():
  context = _HOSTILE + "x" * 100_000
  texts = {"question": _HOSTILE * 999, "title": _HOSTILE}
  texts["qas_id"] = texts["question"]
  answers = (AnswerSpan(context, 0),)
  example = SquadExample(**texts, context=context, answers=answers)
  n_best = tuple(_entry(f"{i}{context}", 0.1) for i in range(99))
  span = (0, len(context))
  page = _page(
    QuestionResult(example, context, 0, 0.0, 0.5, span, n_best),
    sources={_HOSTILE: _HOSTILE},
    notes=[_HOSTILE],
    chosen=QuestionResult(SquadExample(**texts, context=_HOSTILE), "", 0, 0.0),
    windows=[_window((0, len(_HOSTILE), 0.5, 0.5))],
  )
  assert page.count("<script") == 1
  assert page.count("<img") == 2  # the plots
  assert not re.search(r"<[^>]*onerror", page)
  assert _text(_paragraph(page, "tokens")) == _HOSTILE
  assert "&amp;lt;b&amp;gt;" in page  # An entity of the text is no entity.
  # CSS, script, plots and 20,000 characters of texts.
  assert len(page) < 150_000
  # Only the page's own script may run.
  (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
  digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
  assert f"script-src 'sha256-{digest}'" in page
  assert "default-src 'none'" in page
  assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|eval\(", page)


def _windows(start_logits, end_logits):
  # [CLS] who [SEP] ada came [SEP] and a position of padding.
  starts, ends = [-1, -1, -1, 0, 4, -1, -1], [-1, -1, -1, 3, 8, -1, -1]
  windows = {
    "doc_span_index": np.arange(len(start_logits)),
    "token_char_starts": np.array([starts] * len(start_logits)),
    "token_char_ends": np.array([ends] * len(start_logits)),
  }
  logits = {"start_logits": start_logits, "end_logits": end_logits}
  logits = {name: np.reshape(x, [-1, 7]) for name, x in logits.items()}
  logits = WindowLogits([SquadExample("q", "?", "Ada came.")], windows, logits)
  return report_page.window_probabilities(logits)


def test_probabilities_are_a_softmax_over_the_window():
  log2, log4 = math.log(2), math.log(4)
  # Exponentials 1 1 1 4 2 1, together 10; 2 1 1 1 4 1, together 10.
  starts = [0, 0, 0, log4, log2, 0, NO_LOGIT]
  ends = [log2, 0, 0, 0, log4, 0, NO_LOGIT]
  (window,) = _windows([starts], [ends])
  ada, came = window.tokens
  assert ada == pytest.approx((0, 3, 0.4, 0.1))
  assert came == pytest.approx((4, 8, 0.2, 0.4))
  assert (*window.null, window.score) == pytest.approx((0.1, 0.2, 2 * log4))


def test_the_window_with_the_best_start_and_end_comes_first():
  low = [0, 9, 9, 1, 1, 9, 9]  # High outside the passage, which does not count.
  high = [0, 0, 0, 2, 1, 0, 0]
  windows = _windows([low, high, high], [low, high, low])
  assert [(w.number, w.score) for w in windows] == [(1, 4), (2, 3), (0, 2)]
  # A passage without tokens has no window.
  assert _windows([], []) == []
