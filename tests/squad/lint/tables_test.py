from lint_figures import FIGURES, SETTINGS

from bert_span.squad.lint.tables import (
  cost_table,
  length_table,
  unknown_block,
  wrapped,
)


def _lines(text):
  return [" ".join(line.split()) for line in text.splitlines()]


def test_lengths_have_a_row_each():
  assert _lines(length_table(FIGURES)) == [
    "LENGTHS count mean 50 % 90 % 95 % 99 % max",
    "question, WordPieces 1 4.0 4 4 4 4 4",
    "question, characters 3 1,010.0 20 3,000 3,000 3,000 3,000",
    "question, windows 2 1.5 1 2 2 2 2",
    "Column 95 %: of 100, 95 are no longer than this.",
  ]


def test_without_a_vocabulary_the_lengths_are_those_in_characters():
  rows = _lines(length_table({"characters": FIGURES["characters"]}))
  assert len(rows) == 3
  assert rows[1].startswith("question, characters")


def test_costs_have_a_row_a_length_and_mark_the_chosen_one():
  lines = _lines(cost_table(FIGURES, SETTINGS))
  row = "12,032 105 0 2.00M 5 % 4.62M 59 % 1.00 2.31"
  assert lines[2:4] == [f"384 < {row}", f"512 {row}"]
  text = " ".join(lines)
  for part in ("--doc_stride=128", "L (1 + L / (6 * 768))", "multiple of 32"):
    assert part in text


def test_a_file_without_windows_has_no_share_of_padding():
  nothing = dict.fromkeys(FIGURES["max_seq_lengths"][0], 0)
  figures = {"max_seq_lengths": [{**nothing, "max_seq_length": 384}]}
  assert "384 < 0 0 0 0 0 0.00 0.00" in _lines(cost_table(figures, SETTINGS))


def test_unknown_words_are_shown_with_their_first_question():
  text = unknown_block(FIGURES["unknown"])
  assert "[UNK]: 1.20 % of WordPieces (12 of 1,000), 0.40 % of" in text
  assert "1 distinct unknown character:\n        9  '\u0301' U+0301" in text
  assert "7 longer unknown words, the most frequent:" in text
  assert "      6  '5½', first in question 'q2'" in text


def test_a_share_too_small_for_two_digits_is_not_told_as_nothing():
  unknown = {**FIGURES["unknown"], "token_share": 0.00004}
  assert "[UNK]: under 0.01 % of WordPieces" in unknown_block(unknown)
  unknown = {**FIGURES["unknown"], "token_share": 0.0}
  assert "[UNK]: 0.00 % of WordPieces" in unknown_block(unknown)


def test_long_lines_are_broken_at_eighty_columns():
  lines = wrapped("-> " + "word " * 40, "   ").splitlines()
  assert len(lines) == 3
  assert all(len(line) <= 80 for line in lines)
  assert lines[1].startswith("   word")
