"""Passages cut at their answers."""

from hypothesis import given
from hypothesis import strategies as st

from bert_span.reporting.marked_passage import Segment, marked_segments

_TEXT = "One two three four five."


def test_a_passage_is_cut_where_answers_begin_and_end():
  assert marked_segments(_TEXT, [(4, 7)], [(4, 13)]) == [
    Segment("One "),
    Segment("two", "both"),
    Segment(" three", "model"),
    Segment(" four five."),
  ]
  assert marked_segments(_TEXT, [(0, 3)], [(19, 24)]) == [
    Segment("One", "annotators"),
    Segment(" two three four "),
    Segment("five.", "model"),
  ]


def test_answers_that_overlap_are_one_mark():
  assert marked_segments(_TEXT, [(4, 13), (8, 18), (4, 7)], []) == [
    Segment("One "),
    Segment("two three four", "annotators"),
    Segment(" five."),
  ]


def test_text_far_from_answers_is_left_out():
  text = "a" * 100 + "Ada" + "b" * 100 + "Bea" + "c" * 100
  assert marked_segments(text, [(100, 103)], [(203, 206)], 10) == [
    Segment("", left_out=90),
    Segment("a" * 10),
    Segment("Ada", "annotators"),
    Segment("b" * 10),
    Segment("", left_out=80),
    Segment("b" * 10),
    Segment("Bea", "model"),
    Segment("c" * 10),
    Segment("", left_out=90),
  ]


def test_whole_words_are_left_out():
  text = "Ada " + "word " * 100
  assert marked_segments(text, [(0, 3)], [], 12) == [
    Segment("Ada", "annotators"),
    Segment(" word word "),
    Segment("", left_out=490),
  ]


def test_the_middle_of_a_long_answer_is_left_out():
  assert marked_segments("x" * 100, [(0, 100)], [], 10) == [
    Segment("x" * 10, "annotators"),
    Segment("", "annotators", left_out=80),
    Segment("x" * 10, "annotators"),
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
      is_gold, is_predicted = (
        any(s <= offset < e for s, e in x) for x in (gold, predicted)
      )
      assert is_gold == (segment.mark in ("annotators", "both"))
      assert is_predicted == (segment.mark in ("model", "both"))
    reached += length
  assert reached == len(text)
