"""Answers marked in their passages."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bert_span.reporting.passages import (
  Segment,
  marked_passage,
  marked_segments,
  one_line,
)

_TEXT = "One two three four five."
_LONG = "a" * 100 + "Ada" + "b" * 100 + "Bea" + "c" * 100


@pytest.mark.parametrize(
  ("text", "gold", "predicted", "num_characters", "segments"),
  [
    (
      *(_TEXT, [(4, 7)], [(4, 13)], 500),
      [("One ",), ("two", "both"), (" three", "model"), (" four five.",)],
    ),
    # Answers that overlap are one mark.
    (
      *(_TEXT, [(4, 13), (8, 18), (4, 7)], [], 500),
      [("One ",), ("two three four", "annotators"), (" five.",)],
    ),
    # Text far from answers is left out, in whole words.
    (
      *(_LONG, [(100, 103)], [(203, 206)], 10),
      [
        *(("", "", 90), ("a" * 10,), ("Ada", "annotators"), ("b" * 10,)),
        *(("", "", 80), ("b" * 10,), ("Bea", "model"), ("c" * 10,)),
        ("", "", 90),
      ],
    ),
    (
      *("Ada " + "word " * 100, [(0, 3)], [], 12),
      [("Ada", "annotators"), (" word word ",), ("", "", 490)],
    ),
    # So is the middle of a passage without one.
    ("ab" * 50, [], [], 10, [("ab" * 5,), ("", "", 80), ("ab" * 5,)]),
    ("", [], [], 500, []),
  ],
)
def test_segments_by_hand(text, gold, predicted, num_characters, segments):
  shown = marked_segments(text, gold, predicted, num_characters)
  assert shown == [Segment(*segment) for segment in segments]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.text(max_size=60), st.integers(0, 9))
def test_shown_and_left_out_make_up_the_passage(data, text, num_characters):
  offset = st.integers(0, len(text))
  spans = st.lists(st.tuples(offset, offset).map(sorted), max_size=4)
  gold, predicted = data.draw(spans), data.draw(spans)
  reached = 0
  for segment in marked_segments(text, gold, predicted, num_characters):
    length = segment.left_out or len(segment.text)
    if segment.text:
      assert text[reached : reached + length] == segment.text
    for offset in range(reached, reached + length):
      is_gold, is_predicted = (
        any(s <= offset < e for s, e in x) for x in (gold, predicted)
      )
      assert is_gold == (segment.mark in ("annotators", "both"))
      assert is_predicted == (segment.mark in ("model", "both"))
    reached += length
  assert reached == len(text)


@pytest.mark.parametrize(
  ("text", "spans", "num_characters", "shown"),
  [
    (_TEXT, [(8, 13)], 200, "One two [[three]] four five."),
    (_TEXT, [(0, 24)], 200, f"[[{_TEXT}]]"),
    (_TEXT, [(8, 13)], 6, "... two [[three]] four ..."),
    (_TEXT, [(4, 7), (14, 18)], 24, "One [[two]] three [[four]] five."),
    # Words longer than the room are cut, and so are answers.
    (_LONG, [(203, 206)], 4, "...bbbb[[Bea]]cccc..."),
    (_LONG, [(0, 306)], 4, "[[aaaa...cccc]]"),
    ("a\x1b[31m\nb\r\nc ", [(7, 8)], 200, "a\ufffd[31m\n[[b]]\nc"),
  ],
)
def test_a_marked_passage_by_hand(text, spans, num_characters, shown):
  found = marked_passage(text, spans, num_characters=num_characters)
  assert found == shown
  marked = marked_passage(text, spans, ("<", ">"), num_characters)
  assert marked == shown.replace("[[", "<").replace("]]", ">")
  assert one_line("a\n\x1b b\t c") == "a \ufffd b c"
