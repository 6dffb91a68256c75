"""Passages cut at their answers."""

from hypothesis import given
from hypothesis import strategies as st

from bert_span.reporting.marked_text import Segment, marked_segments

_TEXT = "One two three four five."


def test_a_passage_is_cut_where_answers_begin_and_end():
  assert marked_segments(_TEXT, [(4, 7)], [(4, 13)]) == [
    Segment("One "),
    Segment("two", is_gold=True, is_predicted=True),
    Segment(" three", is_predicted=True),
    Segment(" four five."),
  ]


def test_answers_that_overlap_are_one_mark():
  assert marked_segments(_TEXT, [(4, 13), (8, 18), (4, 7)], []) == [
    Segment("One "),
    Segment("two three four", is_gold=True),
    Segment(" five."),
  ]


def test_answers_at_both_ends_of_the_passage():
  assert marked_segments(_TEXT, [(0, 3)], [(19, 24)]) == [
    Segment("One", is_gold=True),
    Segment(" two three four "),
    Segment("five.", is_predicted=True),
  ]


def test_what_is_far_from_answers_is_left_out():
  text = "a" * 100 + "Ada" + "b" * 100 + "Bea" + "c" * 100
  assert marked_segments(text, [(100, 103)], [(203, 206)], 10) == [
    Segment("", left_out=90),
    Segment("a" * 10),
    Segment("Ada", is_gold=True),
    Segment("b" * 10),
    Segment("", left_out=80),
    Segment("b" * 10),
    Segment("Bea", is_predicted=True),
    Segment("c" * 10),
    Segment("", left_out=90),
  ]


def test_the_middle_of_a_long_answer_is_left_out():
  assert marked_segments("x" * 100, [(0, 100)], [], 10) == [
    Segment("x" * 10, is_gold=True),
    Segment("", is_gold=True, left_out=80),
    Segment("x" * 10, is_gold=True),
  ]


def test_without_answers_both_ends_of_the_passage_are_shown():
  assert marked_segments("ab" * 50, [], [], 10) == [
    Segment("ab" * 5),
    Segment("", left_out=80),
    Segment("ab" * 5),
  ]
  assert marked_segments("", [], []) == []


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
      covers = [any(s <= offset < e for s, e in x) for x in (gold, predicted)]
      assert covers == [segment.is_gold, segment.is_predicted]
    reached += length
  assert reached == len(text)
