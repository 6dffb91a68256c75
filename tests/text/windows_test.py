"""How passages are cut, by hand."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span import SlidingWindows, WindowOptions
from bert_span.text.tokenizer import Tokens

_CLS, _SEP = 1, 2


def _tokens(*lengths):
  """Passages of tokens 100, 101, ..; token i has the characters [2i, 2i+1)."""
  numbers = tf.ragged.range(tf.constant(lengths, tf.int32))
  return Tokens(numbers + 100, 2 * numbers, 2 * numbers + 1)


def _questions(*lengths):
  return tf.ragged.range(tf.constant(lengths, tf.int32)) + 50


def _cut(questions, context, pad_to_max=False, **options):
  defaults = {"max_seq_length": 10, "doc_stride": 2, "max_query_length": 2}
  options = WindowOptions(**defaults | options)
  windows = SlidingWindows(options, _CLS, _SEP, pad_to_max)(questions, context)
  return {name: value.numpy() for name, value in windows.items()}


def test_example_of_the_docstring():
  windows = _cut(_questions(2), _tokens(8))
  assert windows["token_ids"].tolist() == [
    [1, 50, 51, 2, 100, 101, 102, 103, 104, 2],
    [1, 50, 51, 2, 102, 103, 104, 105, 106, 2],
    [1, 50, 51, 2, 104, 105, 106, 107, 2, 0],
  ]
  segments = [[0] * 4 + [1] * 6] * 2 + [[0] * 4 + [1] * 5 + [0]]
  assert windows["segment_ids"].tolist() == segments
  assert windows["padding_mask"].sum(axis=1).tolist() == [10, 10, 9]
  assert windows["doc_span_index"].tolist() == [0, 1, 2]
  assert windows["first_context_position"].tolist() == [4, 4, 4]
  starts, ends = windows["token_char_starts"], windows["token_char_ends"]
  assert starts[2].tolist() == [-1] * 4 + [8, 10, 12, 14, -1, -1]
  assert ends[2].tolist() == [-1] * 4 + [9, 11, 13, 15, -1, -1]
  # Token t3 scores 1.05 in windows 0 and 1: window 0 wins.
  assert windows["is_max_context"].tolist() == [
    [0, 0, 0, 0, 1, 1, 1, 1, 0, 0],  # t0 t1 t2 t3
    [0, 0, 0, 0, 0, 0, 1, 1, 0, 0],  # t4 t5
    [0, 0, 0, 0, 0, 0, 1, 1, 0, 0],  # t6 t7
  ]


@pytest.mark.parametrize("seed", range(12))
def test_max_context_is_the_first_best_of_all_windows(seed):
  rng = np.random.default_rng(seed)
  length = int(rng.integers(5, 40))
  windows = _cut(
    _questions(1, 1, 1),
    _tokens(*rng.integers(0, 4 * length, 3)),
    max_seq_length=length,
    doc_stride=int(rng.integers(1, length + 2)),
    max_query_length=1,
  )
  best = {}  # Of each token of each example: score, window, position.
  for row, example in enumerate(windows["example_index"]):
    first = windows["first_context_position"][row]
    num_tokens = windows["context_length"][row]
    for i in range(num_tokens):
      token = (example, windows["context_start"][row] + i)
      score = min(i, num_tokens - i - 1) + 0.01 * num_tokens
      if score > best.get(token, [-1])[0]:
        best[token] = (score, row, first + i)
  marked = {(row, position) for _, row, position in best.values()}
  assert set(zip(*np.nonzero(windows["is_max_context"]), strict=True)) == marked


def test_a_long_question_is_cut_and_a_short_one_leaves_room():
  windows = _cut(_questions(5, 0), _tokens(7, 7))
  assert windows["example_index"].tolist() == [0, 0, 1]
  assert windows["token_ids"].tolist()[1:] == [
    [1, 50, 51, 2, 102, 103, 104, 105, 106, 2],
    [1, 2, 100, 101, 102, 103, 104, 105, 106, 2],
  ]


def test_a_window_has_room_for_the_longest_question_and_one_token():
  for length, separators in ((6, 1), (7, 2)):
    kwargs = {"cls_id": _CLS, "sep_id": _SEP, "num_separators": separators}
    SlidingWindows(WindowOptions(length, max_query_length=2), **kwargs)
  with pytest.raises(ValueError, match=r"at least 7 .* 2 and 4 special"):
    SlidingWindows(WindowOptions(6, max_query_length=2), **kwargs)


def test_no_passage_with_tokens_gives_empty_tensors():
  windows = _cut(_questions(1, 1), _tokens(0, 0))
  for name, value in windows.items():
    assert len(value) == 0, name
  assert windows["token_ids"].shape == (0, 0)
  windows = _cut(_questions(), _tokens(), pad_to_max=True)
  assert windows["token_ids"].shape == (0, 10)


def test_padding_reaches_the_longest_window_or_the_maximum():
  windows = _cut(_questions(2, 1, 1, 1), _tokens(0, 1, 3, 0))
  assert windows["example_index"].tolist() == [1, 2]  # Empty ones have none.
  assert windows["token_ids"].shape == (2, 7)
  windows = _cut(_questions(1), _tokens(1), pad_to_max=True)
  assert windows["token_ids"].tolist() == [[1, 50, 2, 100, 2, 0, 0, 0, 0, 0]]
  assert windows["padding_mask"].tolist() == [[1] * 5 + [0] * 5]
