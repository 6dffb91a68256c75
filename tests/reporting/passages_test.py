"""Answers marked in their passages."""

from hypothesis import given
from hypothesis import strategies as st

from bert_span.reporting.passages import (
  Segment,
  marked_passage,
  marked_segments,
  marked_spans,
  one_line,
)

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


def test_a_short_passage_is_shown_whole():
  assert marked_passage(_TEXT, 8, 13) == "One two [[three]] four five."
  assert marked_passage(_TEXT, 0, 3) == "[[One]] two three four five."
  assert marked_passage(_TEXT, 0, 24, ("<", ">")) == f"<{_TEXT}>"


def test_a_long_passage_is_cut_between_words():
  # 15 characters: 5 of the answer, 5 on each side (" two " and " four").
  assert marked_passage(_TEXT, 8, 13, num_characters=15) == (
    "... two [[three]] four ..."
  )


def test_what_one_side_does_not_need_is_the_other_s():
  passage = "word " * 200
  text = marked_passage(passage, 5, 9, num_characters=100)
  assert text.startswith("word [[word]] word") and text.endswith(" ...")
  assert 90 <= len(text) <= 110
  text = marked_passage(passage.strip(), 995, 999, num_characters=100)
  assert text.startswith("... word") and text.endswith("word [[word]]")
  assert 90 <= len(text) <= 110


def test_an_answer_is_never_cut():
  answer = "a" * 50
  text = marked_passage(f"one {answer} two", 4, 54, num_characters=10)
  assert text == f"... [[{answer}]] ..."


def test_words_longer_than_the_room_are_cut():
  text = marked_passage("日" * 500, 250, 252, num_characters=22)
  assert text == f"... {'日' * 10}[[日日]]{'日' * 10} ..."


def test_characters_that_command_a_terminal_are_replaced():
  assert marked_passage("a\x1b[31m\nb\r\nc", 7, 8) == "a\ufffd[31m\n[[b]]\nc"
  assert one_line("a\n\x1b b\t c") == "a \ufffd b c"


def test_every_span_is_marked_and_the_passage_stays_whole():
  assert marked_spans("One two three.", [(0, 3), (8, 13)]) == (
    "[[One]] two [[three]]."
  )
  assert marked_spans(" a\x07b ", [(2, 4)], ("<", ">")) == "a<\ufffdb>"
  assert marked_spans("a b", []) == "a b"
