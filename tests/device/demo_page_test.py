"""The demo page: what is in it, and what it does in a browser."""

import re
import urllib.parse

import pytest

from tests.support.servers import ModelServer, output_row, span_row

pytestmark = pytest.mark.large

_HOSTILE = (
  "<img src=x onerror=\"document.title='taken'\">"
  "<script>document.title='taken'</script></mark>&lt;b&gt;"
)


@pytest.fixture(scope="module")
def page(repository):
  return repository / "bert_span/web/demo.html"


@pytest.fixture
def ask(browser, page, server):
  """A function that opens the page with its fields filled, and waits.

  The server answers with `row`, if it is given. Fields are in `query`.
  """

  def ask_page(context="Ada", row=None, width=1280, dark=False, **query):
    if row:
      server.answer = lambda question, context: row
    fields = {"server": server.address, "question": "Who?", "context": context}
    url = f"{page.as_uri()}?{urllib.parse.urlencode(fields | query)}"
    browser.open(url, width, dark=dark)
    browser.wait_for("document.getElementById('waiting').hidden")
    return browser

  return ask_page


def _text(browser, element):
  return browser.run(f"document.getElementById('{element}').innerText")


def _all(browser, selector, value="textContent"):
  """The texts, or other values, of all such elements."""
  elements = f"[...document.querySelectorAll('{selector}')]"
  return browser.run(f"{elements}.map((element) => element.{value})")


@pytest.mark.parametrize("name", ["demo", "file"])
def test_nothing_comes_from_elsewhere_and_nothing_is_read_as_html(page, name):
  html = page.with_name(f"{name}.html").read_text(encoding="utf-8")
  assert "default-src 'none'" in html
  for script in ("page.js", f"{name}.js"):
    source = page.with_name(script).read_text(encoding="utf-8")
    assert not re.search(r"(inner|outer)HTML|document\.write|\beval\(", source)


def test_the_answer_is_marked_beyond_characters_of_two_units(ask, server):
  context = "🙂𝔸 The 👩\u200d👧 mill 🏭 was built by Anna 🙂."
  browser = ask(context, output_row(context, [("mill 🏭", 0.9), ("", 0.1)]))
  assert _text(browser, "decision") == "mill 🏭"
  assert _all(browser, "mark") == ["mill 🏭"]
  assert _all(browser, "#passage") == [context]
  row = {"question": "Who?", "context": context}
  assert server.requests[-1][2]["instances"] == [row]


def test_candidates_have_bars_and_can_be_chosen_by_keyboard(ask):
  context = "Ada and Bea came."
  spans = [("Ada", 0.5), ("Bea", 0.25), ("", 0.125)]
  browser = ask(context, output_row(context, spans))
  assert _all(browser, ".bar", "style.width") == ["50%", "25%", "12.5%"]
  entries = "Ada", "50.0 %", "Bea", "25.0 %", "no answer", "12.5 %"
  assert _text(browser, "entries") == "\n".join(entries)
  browser.run("document.getElementById('passage').focus()")
  for _ in range(2):
    browser.press("Tab")
  browser.press("Enter")
  assert _all(browser, "mark") == ["Bea"]
  assert _all(browser, "[aria-pressed=true] .entry-text") == ["Bea"]
  browser.press("Tab")
  browser.press(" ")
  assert _all(browser, "mark") == []


def test_all_spans_of_a_bio_model_are_marked(ask):
  context = "🙂 Ada came, and so did Bea."
  browser = ask(context, span_row(context, [("Ada", 0.5), ("Bea", 0.75)]))
  assert _all(browser, "mark") == ["Ada", "Bea"]
  assert _all(browser, "#passage") == [context]
  assert _text(browser, "decision") == "Ada; Bea"
  assert "2 spans" in _text(browser, "facts")
  assert _text(browser, "entries-title") == "Spans"
  assert _text(browser, "entries") == "Ada\n50.0 %\nBea\n75.0 %"
  browser.run("document.querySelectorAll('#entries button')[1].click()")
  assert _all(browser, "mark") == ["Bea"]


@pytest.mark.parametrize(
  "row",
  [
    {**span_row("Ada came.", [], 2.5), "probability": 0.75},
    output_row("Ada came.", [("", 0.75), ("Ada", 0.25)], 2.5, False),
  ],
)
def test_no_answer_is_shown_with_its_odds(ask, row):
  browser = ask("Ada came.", row)
  assert _text(browser, "decision") == "No answer in this passage"
  assert "75.0 % probable" in _text(browser, "facts")
  assert "null odds 2.50" in _text(browser, "facts")
  assert _all(browser, "mark") == []


def test_a_question_whose_end_was_not_read_is_said(ask):
  row = output_row("Ada came.", [("Ada", 0.75)])
  browser = ask("Ada came.", {**row, "question_truncated": True})
  assert "the end of the question was not read" in _text(browser, "facts")
  assert "Null odds: the score" in browser.run(
    "document.getElementById('meaning').textContent"
  )


def test_a_long_list_shows_its_first_entries_until_all_are_asked_for(ask):
  words = [f"w{i}" for i in range(7)]
  context = " ".join(words)
  browser = ask(context, output_row(context, [(word, 0.1) for word in words]))
  assert _text(browser, "entries").split("\n")[::2] == words[:5]
  assert _text(browser, "more") == "Show all 7"
  browser.run("document.getElementById('more').focus()")
  browser.press("Enter")
  assert _text(browser, "entries").split("\n")[::2] == words
  assert browser.run("document.activeElement.innerText").startswith("w5")
  assert browser.run("document.getElementById('more').hidden")


def test_the_whole_page_works_by_keyboard(browser, page, server):
  browser.open(f"{page.as_uri()}?server={server.address}", 375)
  browser.press("Tab")  # Server
  row = {"question": "Who came?", "context": "Bea came."}
  for text in row.values():
    browser.press("Tab")
    browser.type(text)
  browser.press("Tab")
  browser.press("Enter")
  browser.wait_for("!document.getElementById('result').hidden")
  assert _text(browser, "decision") == "Bea"
  assert server.requests[-1][2]["instances"] == [row]


def test_hostile_texts_are_shown_as_they_are(ask, server):
  context = f"Ada {_HOSTILE} came."
  row = output_row(context, [(_HOSTILE, 1.0)])
  browser = ask(context, row, question=_HOSTILE, label=_HOSTILE)
  assert "404" in _text(browser, "error-title")  # no such label
  assert _all(browser, "img") == []
  browser = ask(context, row, question=_HOSTILE)
  assert _text(browser, "decision") == _HOSTILE
  assert _all(browser, "mark") == [_HOSTILE]
  server.script = [(500, {}, _HOSTILE)]
  browser = ask(context, question=_HOSTILE)
  assert _HOSTILE in _text(browser, "error-text")
  for address in (_HOSTILE, "javascript:document.title='taken'"):
    browser = ask(server=address)
    assert _text(browser, "error-title") == "This is no address of a server"
    assert address in _text(browser, "error-text")
  assert _all(browser, "img") == []
  assert browser.run("document.title") == "Ask a passage"


def test_a_phone_shows_it_without_scrolling_sideways(ask):
  word = "unbreakable" * 40
  context = f"Ada {word} came."
  browser = ask(context, output_row(context, [(word, 0.9)]), 375, dark=True)
  assert browser.run("document.documentElement.scrollWidth") == 375
  background = "getComputedStyle(document.body).backgroundColor"
  assert browser.run(background) == "rgb(21, 23, 26)"
  assert browser.run("document.querySelector('#ask').offsetHeight") >= 40


@pytest.mark.parametrize(
  ("script", "title", "text"),
  [
    ((404, {}, '{"error": "not found"}'), "says 404", "models.config"),
    ((200, {}, "<html>"), "not that of a span model", "no JSON"),
    ((200, {}, '{"predictions": [{"a": 1}]}'), "not that of", "missing"),
  ],
)
def test_errors_of_the_server_are_explained(ask, server, script, title, text):
  server.script = [script]
  browser = ask()
  assert title in _text(browser, "error-title")
  assert text in _text(browser, "error-text")
  assert server.address in _text(browser, "error-text")
  assert browser.run("document.activeElement.id") == "error"


def test_a_slow_a_missing_and_a_forbidden_server_are_told_apart(ask, server):
  server.delay = 2.0
  browser = ask(timeout="0.5")
  assert _text(browser, "error-title") == "No answer within 0.5 s"
  assert browser.run("document.getElementById('ask').disabled") is False
  server.delay, server.cors = 0.0, False
  assert "CORS" in _text(ask(), "error-title")
  free = ModelServer()
  free.server_close()
  browser = ask(server=free.address)
  assert _text(browser, "error-title") == "The server cannot be reached"


def test_offsets_beyond_the_passage_mark_nothing(ask):
  browser = ask("Ada", {**output_row("Ada", [("Ada", 1.0)]), "char_end": 99})
  assert _text(browser, "passage") == "Ada"
  assert _all(browser, "mark") == []
