import numpy as np
import pytest

from bert_span.squad.lint.token_lengths import TokenLengths
from bert_span.squad.lint.window_costs import (
  answers_cut,
  computation,
  holds_answer,
  place_windows,
  window_cost,
)
from bert_span.text.options import WindowOptions

_OPTIONS = WindowOptions(max_seq_length=10, doc_stride=2, max_query_length=2)


def _lengths(question, context, start, end):
  start, end = np.array(start), np.array(end)
  return TokenLengths(
    question=np.array(question, np.int32),
    context=np.array(context, np.int32),
    answer_start=start,
    answer_end=end,
    without_token=np.zeros(len(start), bool),
    passage=np.array(context),
  )


def test_the_worked_example_of_the_windows_has_three():
  # Room for 10 - 2 - 3 = 5 of 8 tokens, step 2; the question of 4 is cut to 2.
  windows = place_windows(_lengths([4], [8], [-1], [-1]), _OPTIONS)
  assert windows["context_start"].tolist() == [0, 2, 4]
  assert windows["context_length"].tolist() == [5, 5, 4]
  assert windows["length"].tolist() == [10, 10, 9]


def test_an_answer_longer_than_the_overlap_can_be_cut():
  # Windows hold tokens 0-4, 2-6, 4-7.
  lengths = _lengths([2] * 4, [8] * 4, [0, 1, 1, -1], [4, 5, 4, -1])
  windows = place_windows(lengths, _OPTIONS)
  assert answers_cut(windows, lengths).tolist() == [False, True, False, False]
  held = holds_answer(windows, lengths).reshape(4, 3)
  assert held.sum(axis=1).tolist() == [1, 0, 1, 0]


def test_a_passage_without_tokens_has_no_window():
  lengths = _lengths([1], [0], [-1], [-1])
  cost = window_cost(lengths, _OPTIONS, bucket_width=4, hidden_size=768)
  assert tuple(cost.values()) == (10, 0, 0, 0, 0, 0, 0, 0.0, 0.0)


def test_a_cost_counts_windows_padding_and_work():
  # Windows of 10, 10 and 9 WordPieces, and one of 2 + 1 + 3 = 6.
  lengths = _lengths([2, 2], [8, 1], [1, -1], [4, -1])
  cost = window_cost(lengths, _OPTIONS, bucket_width=4, hidden_size=1)
  assert cost["windows"] == 4
  assert cost["answerless_windows"] == 2
  assert cost["answers_cut"] == 0
  assert cost["wordpieces"] == 35
  # 10 -> 12, but never beyond max_seq_length; 9 likewise; 6 -> 8.
  assert cost["bucket_wordpieces"] == 10 + 10 + 10 + 8
  assert cost["padded_wordpieces"] == 40
  assert cost["padded_cost"] == pytest.approx(4 * 10 * (1 + 10 / 6))
  assert cost["bucket_cost"] == pytest.approx(
    3 * 10 * (1 + 10 / 6) + 8 * (1 + 8 / 6)
  )


def test_computation_is_the_count_of_a_layers_multiplications():
  length, hidden, heads = 384, 768, 12
  size = hidden // heads
  dense = length * hidden * hidden * (4 + 4 + 4)  # q k v out, up, down
  between = heads * (length * size * length) * 2  # scores, weighted sum
  assert computation([length], hidden) == pytest.approx(
    (dense + between) / (12 * hidden * hidden)
  )
