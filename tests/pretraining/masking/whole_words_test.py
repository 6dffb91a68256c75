"""Words out of WordPieces."""

import numpy as np

from bert_span.pretraining.masking.whole_words import (
  continuation_table,
  word_starts,
)

VOCABULARY = ["[PAD]", "the", "mill", "##er", "##s", ".", "##"]


def test_pieces_with_two_number_signs_continue_a_word():
  table = continuation_table(VOCABULARY)
  assert table.tolist() == [False, False, False, True, True, False, False]


def test_a_word_begins_at_every_piece_that_continues_none():
  table = continuation_table(VOCABULARY)
  ids = np.array([1, 2, 3, 4, 5, 2])  # the mill ##er ##s . mill
  assert word_starts(ids, table).tolist() == [0, 1, 4, 5]


def test_the_rest_of_a_cut_word_is_a_word():
  table = continuation_table(VOCABULARY)
  assert word_starts(np.array([3, 4, 1]), table).tolist() == [0, 2]


def test_no_tokens_are_no_words():
  table = continuation_table(VOCABULARY)
  assert word_starts(np.array([], np.int64), table).tolist() == []
