"""The frame of a page: complete, and closed to all that is not its own."""

import base64
import hashlib
import re

from report_samples import HOSTILE

from bert_span.reporting.markup import Section
from bert_span.reporting.page import page


def _page(title="Scores", content="<p>b</p>"):
  return page(title, "<p>a</p>", [Section("one", "First & last", content)])


def test_sections_have_headings_and_links():
  text = _page()
  assert '<li><a href="#one">First &amp; last</a></li>' in text
  assert '<h2 id="one-title">First &amp; last</h2>\n<p>b</p>' in text
  assert text.startswith("<!DOCTYPE html>\n<html lang=")
  assert '<meta name="viewport" content="width=device-width' in text


def test_only_the_page_s_own_script_may_run():
  text = _page()
  (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
  digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
  assert f"script-src 'sha256-{digest}'" in text
  assert "default-src 'none'" in text


def test_the_page_loads_nothing_and_reads_no_text_as_html():
  text = _page()
  assert not re.search(r"\w://|[\"'(=]//", text)
  assert not re.search(r"@import|url\(|<iframe|<object|<embed", text)
  for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval("):
    assert way not in text


def test_a_title_is_no_markup_and_texts_are_no_templates():
  text = _page(HOSTILE, "<p>$title ${style}</p>")
  assert "<script>document.title" not in text
  assert "<p>$title ${style}</p>" in text
