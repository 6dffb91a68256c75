"""Windows without float64 are those with it."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.text.options import WindowOptions
from bert_span.text.tokenizer import Tokens, one_row
from bert_span.text.windows import SlidingWindows
from bert_span.tflite.text_graph.ranked_windows import RankedWindows


def test_ranks_are_in_the_order_of_the_scores():
  windows = RankedWindows(WindowOptions(8, 4, 2), 1, 2)
  least = tf.constant([[0], [1], [-5]])
  ranks = windows.context_score(least, tf.constant([[1, 2]])).numpy()
  assert ranks[0, 0] < ranks[0, 1] < ranks[1, 0] < ranks[1, 1]
  assert ranks.dtype == np.int32


@pytest.mark.parametrize("options", [(16, 4, 4), (384, 128, 64), (330, 15, 8)])
def test_the_windows_of_a_passage_are_the_same(options):
  """Among them last windows shorter by whole hundreds, where scores tie."""
  options = WindowOptions(*options)
  ranked = RankedWindows(options, 1, 2, pad_to_max=True)
  plain = SlidingWindows(options, 1, 2, pad_to_max=True)
  rng = np.random.default_rng(0)
  for num_tokens in (0, 1, *rng.integers(2, 2000, 12)):
    tokens = Tokens(*(one_row(tf.range(int(num_tokens))) for _ in range(3)))
    question = one_row(tf.range(int(rng.integers(0, 9))))
    expected, given = plain(question, tokens), ranked(question, tokens)
    for name, values in expected.items():
      np.testing.assert_array_equal(values, given[name], err_msg=name)
