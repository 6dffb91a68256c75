"""Pieces of HTML."""

from report_samples import HOSTILE

from bert_span.reporting import markup
from bert_span.reporting.markup import Column, Link


def test_nothing_of_a_text_is_markup():
  text = markup.escaped(HOSTILE)
  for character in "<>\"'":
    assert character not in text
  assert "&amp;lt;b&amp;gt;" in text  # An entity of the text is no entity.


def test_what_html_or_utf8_cannot_hold_is_replaced():
  assert markup.escaped("a\0b\x1b\x85\ud800c\td\n") == (
    "a\ufffdb\ufffd\ufffd\ufffdc\td\n"
  )
  markup.escaped("\udfff\ud800").encode("utf-8")


def test_a_long_text_is_cut():
  assert markup.cut("12345", 5) == "12345"
  assert markup.cut("123456", 5) == "12345…"


def test_cells_show_numbers_as_people_read_them_and_sort_by_their_value():
  columns = (
    Column("Name"),
    Column("Count", is_number=True),
    Column("Score", is_number=True, is_percent=True),
    Column("At", is_number=True),
  )
  table = markup.sortable_table(
    "A <b>", columns, [["x & y", 1234, 62.345, Link("7", "place-7")]]
  )
  assert "<caption>A &lt;b&gt;</caption>" in table
  assert 'aria-label="A &lt;b&gt;"' in table
  assert '<th scope="row" dir="auto">x &amp; y</th>' in table
  assert '<td class="number" data-value="1234">1,234</td>' in table
  assert (
    '<td class="number share" data-value="62.345" style="--share:62.3%">'
    "62.34</td>" in table
  )
  assert 'data-value="7"><a href="#place-7">7</a></td>' in table


def test_an_unknown_number_has_no_value_to_sort_by():
  columns = (Column("Name"), Column("Score", is_number=True, is_percent=True))
  table = markup.sortable_table("A", columns, [["x", None]])
  assert '<td class="number">–</td>' in table


def test_a_picture_stands_within_the_page():
  figure = markup.image(b"abc", "image/png", 'so "called"', "a < b")
  assert 'src="data:image/png;base64,YWJj"' in figure
  assert 'alt="so &quot;called&quot;"' in figure
  assert "a &lt; b" in figure
