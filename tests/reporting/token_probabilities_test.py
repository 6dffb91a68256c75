"""Start and end probabilities of tokens."""

import math

import numpy as np
import pytest

from bert_span.answers.window_logits import NO_LOGIT, WindowLogits
from bert_span.reporting.token_probabilities import window_probabilities
from bert_span.squad.example import SquadExample

_EXAMPLE = SquadExample("q", "Who?", "Ada came.")


def _logits(start_logits, end_logits):
  # [CLS] who [SEP] ada came [SEP] and a position of padding.
  starts = [-1, -1, -1, 0, 4, -1, -1]
  ends = [-1, -1, -1, 3, 8, -1, -1]
  rows = len(start_logits)
  windows = {
    "example_index": np.zeros(rows, np.int32),
    "doc_span_index": np.arange(rows),
    "token_char_starts": np.array([starts] * rows),
    "token_char_ends": np.array([ends] * rows),
  }
  return WindowLogits(
    [_EXAMPLE],
    windows,
    {
      "start_logits": np.array(start_logits, np.float32).reshape(rows, 7),
      "end_logits": np.array(end_logits, np.float32).reshape(rows, 7),
    },
  )


def test_probabilities_are_a_softmax_over_the_window():
  log2, log4 = math.log(2), math.log(4)
  # Exponentials 1 1 1 4 2 1, together 10; 2 1 1 1 4 1, together 10.
  (window,) = window_probabilities(
    _logits(
      [[0, 0, 0, log4, log2, 0, NO_LOGIT]], [[log2, 0, 0, 0, log4, 0, NO_LOGIT]]
    )
  )
  np.testing.assert_allclose(window.start, [0.4, 0.2], rtol=1e-6)
  np.testing.assert_allclose(window.end, [0.1, 0.4], rtol=1e-6)
  assert window.null_start == pytest.approx(0.1)
  assert window.null_end == pytest.approx(0.2)
  assert window.score == pytest.approx(2 * log4)
  assert window.char_starts.tolist() == [0, 4]
  assert window.char_ends.tolist() == [3, 8]


def test_the_window_with_the_best_start_and_end_comes_first():
  low = [0, 9, 9, 1, 1, 9, 9]  # High outside the passage, which does not count.
  high = [0, 0, 0, 2, 1, 0, 0]
  windows = window_probabilities(_logits([low, high, high], [low, high, low]))
  assert [w.number for w in windows] == [1, 2, 0]
  assert [w.score for w in windows] == [4, 3, 2]


def test_a_passage_without_tokens_has_no_window():
  assert window_probabilities(_logits([], [])) == []
