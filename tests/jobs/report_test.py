"""The job of report, and its page in a browser."""

import contextlib
import io
import json
import re
import sys

import pytest

from tests.support.models import CONTEXT, eagerly, shared_model
from tests.support.programs import refusal
from tests.support.squad import spans, squad_content

pytest.importorskip("jinja2", reason="pip install -e '.[report]'")
pytest.importorskip("matplotlib", reason="pip install -e '.[report]'")
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.jobs.report import report
from bert_span.report import ReportOptions

_HOSTILE = (
  "<script>document.title='taken'</script>"
  "<img src=x onerror=\"document.title='taken'\">\"'></mark>"
  "&lt;b&gt; $title ${x}"
)
# Id, question, annotators' answers, predicted answers with probabilities:
# three are right, and three of the others are the worst.
_SMALL = [
  ("who", "Who built the mill?", ["Anna"], {"Anna": 0.875, "": 0.125}),
  ("when", "When was it?", ["1895", "in 1895"], {"1895": 0.75, "": 0.25}),
  ("where", "Where?", ["near the river"], {"the river": 0.5, "river": 0.25}),
  ("what", "What was it?", ["The mill", "mill"], {"": 0.625, "mill": 0.375}),
  ("why", "Why was it built?", [], {"": 0.9375, "Anna": 0.0625}),
  ("how", "How?", ["near the river"], {"the river": 0.25, "river": 0.25}),
  ("cost", "How much did it cost?", [], {"1895": 0.9375, "": 0.0625}),
]


def _write_files(folder, context, rows):
  """Writes a SQuAD file and n-best lists; returns their paths."""
  questions, n_best = [], {}
  for qas_id, question, golds, predicted in rows:
    answers = spans(*((gold, context.index(gold)) for gold in golds))
    labels = {"answers": answers, "is_impossible": not golds}
    questions.append({"id": qas_id, "question": question, **labels})
    n_best[qas_id] = [
      {"text": text, "probability": p, "start_logit": 0.0, "end_logit": 0.0}
      for text, p in predicted.items()
    ]
  squad = squad_content(context, *questions, title=context, version="v2.0")
  paths = folder / "predict_file.json", folder / "nbest_file.json"
  for path, value in zip(paths, (squad, n_best), strict=True):
    path.write_text(json.dumps(value), encoding="utf-8")
  return list(map(str, paths))


def _write_report(predict_file, nbest_file, page, **options):
  files = {"predict_file": predict_file, "nbest_file": nbest_file}
  report(ReportOptions(**files, output_file=page, **options))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
  """Paths of two reports: of a few questions, and of one that is all HTML."""
  model = str(shared_model(version_2=True))
  small, hostile = (tmp_path_factory.mktemp(x) for x in ("small", "hostile"))
  printed, options = io.StringIO(), {"num_errors": 3, "question_id": "where"}
  with contextlib.redirect_stdout(printed), eagerly():
    _write_report(
      *_write_files(small, CONTEXT, _SMALL),
      small / "page.html",
      model=model,
      **options,
    )
  assert f"{small}/page.html: 3 errors" in printed.getvalue()
  rows = [(_HOSTILE, _HOSTILE, ["Bea"], {_HOSTILE: 0.75, "Ada": 0.25})]
  paths = _write_files(hostile, f"Ada {_HOSTILE} came to Bea.", rows)
  options = {"model": model, "question_id": _HOSTILE}
  with eagerly():
    _write_report(*paths, hostile / "page.html", **options)
  return {"small": small / "page.html", "hostile": hostile / "page.html"}


def test_the_page_has_the_official_scores_and_every_section(pages):
  text = pages["small"].read_text(encoding="utf-8")
  tiles = dict(re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", text))
  # who, when and why are right; "the river" against "near the river", twice:
  # without the article, precision 1, recall 1/2.
  assert (tiles["EM"], tiles["F1, unanswerable"]) == ("42.86", "50.00")
  assert tiles["F1"] == f"{100 * (3 + 2 * 2 / 3) / 7:.2f}"
  assert re.findall(r'<(?:section|article) id="(.*?)"', text) == [
    *("overview", "groups", "no-answer", "calibration", "errors"),
    *("error-1", "error-2", "error-3", "tokens"),
  ]
  # All in one window of 32 WordPieces.
  windows = text.partition("<caption>Windows of the passage</caption>")[2]
  assert re.search(r"1 window</th>\s*<td[^>]*>7</td>", windows)


def test_the_pages_open_offline(pages):
  """The texts themselves have no links; what CSS loads, the page forbids."""
  links = r"\b(?:src|href|action|srcset)\s*=\s*\"(?!#|data:)"
  for path in pages.values():
    text = path.read_text(encoding="utf-8")
    assert not re.search(rf"\w://|[\"'(=]//|{links}", text)
    assert len(text.encode()) < 5_000_000


@pytest.mark.large
def test_hostile_texts_are_shown_and_would_not_run(browser, pages, tmp_path):
  text = pages["hostile"].read_text(encoding="utf-8")
  browser.open(pages["hostile"].as_uri())
  assert browser.run("document.title") == "Answers and errors"
  assert browser.run("document.scripts.length") == 1
  assert browser.run("document.images.length") == 2
  title = "document.querySelector('#error-1 h3').textContent"
  assert browser.run(title) == f"1. {_HOSTILE}"
  marked = "document.querySelector('#error-1 mark.model').textContent"
  assert browser.run(marked) == _HOSTILE
  tokens = "document.querySelector('.tokens').textContent"
  assert "img src=x onerror=" in browser.run(tokens)
  # Not even a script that got into the page.
  changed = tmp_path / "changed.html"
  changed.write_text(text.replace("</main>", f"{_HOSTILE}</main>"), "utf-8")
  browser.open(changed.as_uri())
  assert browser.run("document.scripts.length") == 2
  assert browser.run("document.title") == "Answers and errors"
  # The page's own script has run.
  assert browser.run("document.querySelectorAll('th button').length") > 0


@pytest.mark.large
def test_tables_are_sorted_by_keyboard(browser, pages):
  browser.open(pages["small"].as_uri())
  cells = "[...document.querySelectorAll('#errors tbody th')]"
  numbers = f"{cells}.map((c) => c.innerText)"
  assert browser.run(numbers) == ["1", "2", "3"]
  heads = "document.querySelectorAll('#errors th button')"
  order = "document.querySelectorAll('#errors thead th')[5].ariaSort"
  browser.run(f"{heads}[4].focus()")
  browser.press("Tab")
  browser.press("Enter")
  assert browser.run(order) == "descending"  # by the probability
  # cost 0.9375, what 0.625, where 0.5, which is nearly right.
  assert browser.run(numbers) == ["1", "2", "3"]
  browser.press(" ")
  assert browser.run(order) == "ascending"
  assert browser.run(numbers) == ["3", "2", "1"]
  browser.run(f"{heads}[1].click()")  # by the text of the question
  assert browser.run(order) is None
  assert browser.run(numbers) == ["1", "2", "3"]  # How, What, Where
  # An unknown number stays last either way.
  table = "document.querySelector('#tokens table')"
  last = f"{table}.rows[{table}.rows.length - 1].cells[0].innerText"
  for _ in range(2):
    browser.run(f"{table}.querySelectorAll('button')[1].click()")
    assert browser.run(last) == "[CLS] (no answer)"


@pytest.mark.large
@pytest.mark.parametrize(
  ("name", "dark"), [("small", False), ("small", True), ("hostile", False)]
)
def test_a_phone_shows_it_without_scrolling_sideways(
  browser, pages, name, dark
):
  browser.open(pages[name].as_uri(), 375, dark=dark)
  assert browser.run("document.documentElement.scrollWidth") == 375
  background = browser.run("getComputedStyle(document.body).backgroundColor")
  assert background == ("rgb(21, 23, 26)" if dark else "rgb(246, 246, 243)")
  ends = "[...document.images].map((i) => i.getBoundingClientRect().right)"
  assert max(browser.run(ends)) <= 375
  if name == "small":  # No table is cut off.
    widths = "[...document.querySelectorAll('details, .scroll')].map((e) => "
    widths += "(e.open = true, e.scrollWidth - e.clientWidth))"
    assert max(browser.run(widths)) <= 0


def test_without_its_extra_one_line_says_what_to_install(monkeypatch):
  for package in ("jinja2", "matplotlib"):
    with monkeypatch.context() as patch:
      patch.setitem(sys.modules, package, None)
      line = refusal("bert_span.report", "--predict_file=a", "--nbest_file=b")
    assert f"pip install {package}" in line and "[report]" in line


def test_files_that_do_not_fit_together_are_named(tmp_path):
  files = _write_files(tmp_path, CONTEXT, _SMALL)
  page, bio = tmp_path / "page.html", str(shared_model(kind=BioExtractor))
  for model, question_id, named in (
    ("none", "whence", "question_id=whence"),
    (bio, "who", "question_id=who: .* bio head"),
  ):
    with pytest.raises(ValueError, match=named):
      _write_report(*files, page, model=model, question_id=question_id)
  (tmp_path / "other").mkdir()
  other = _write_files(tmp_path / "other", CONTEXT, _SMALL[:-1])
  with pytest.raises(ValueError, match=r"predict_file.json, .*: 'cost'"):
    _write_report(files[0], other[1], page)
  assert not page.exists()
