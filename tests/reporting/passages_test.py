"""Answers marked in their passages."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bert_span.reporting.passages import (
  Segment,
  marked_passage,
  marked_segments,
  marked_spans,
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
  ("text", "span", "options", "shown"),
  [
    (_TEXT, (8, 13), {}, "One two [[three]] four five."),
    (_TEXT, (0, 24), {"marks": ("<", ">")}, f"<{_TEXT}>"),
    # 15 characters: 5 of the answer, 5 on each side (" two " and " four").
    (_TEXT, (8, 13), {"num_characters": 15}, "... two [[three]] four ..."),
    # An answer is never cut; words longer than the room are.
    (
      *(f"one {'a' * 50} two", (4, 54), {"num_characters": 10}),
      f"... [[{'a' * 50}]] ...",
    ),
    ("a\x1b[31m\nb\r\nc", (7, 8), {}, "a\ufffd[31m\n[[b]]\nc"),
  ],
)
def test_a_marked_passage_by_hand(text, span, options, shown):
  assert marked_passage(text, *span, **options) == shown


def test_what_one_side_does_not_need_is_the_other_s():
  passage = ("word " * 200).strip()
  for start in (5, 990):
    shown = marked_passage(passage, start, start + 4, num_characters=100)
    assert "word [[word]] word" in shown and "..." in shown
    assert 90 <= len(shown) <= 110


def test_every_span_is_marked_without_control_characters():
  assert one_line("a\n\x1b b\t c") == "a \ufffd b c"
  spans = [(1, 4), (9, 14)]
  shown = marked_spans(" One two\x07three. ", spans, ("<", ">"))
  assert shown == "<One> two\ufffd<three>."
