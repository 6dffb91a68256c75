"""Answers marked in their passages."""

from bert_span.reporting.terminal_passage import (
  marked_passage,
  marked_spans,
  one_line,
)

_TEXT = "One two three four five."


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
