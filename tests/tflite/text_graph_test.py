"""Parts of the graph; tflite_extractor_test.py has the answers of files."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.answers.decoding.n_best import Candidates
from bert_span.text.options import WindowOptions
from bert_span.text.tokenizer import Tokens, one_row
from bert_span.text.windows import SlidingWindows
from bert_span.tflite.text_graph import RankedWindows, distinct_entries


@pytest.mark.parametrize("options", [(16, 4, 4), (384, 128, 64), (330, 15, 8)])
def test_windows_without_float64_are_the_same(options):
  """Some last windows are shorter by whole hundreds, where scores tie."""
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


def _candidates(spans):
  """Of rows (byte_start, byte_end, score)."""
  columns = np.reshape(np.array(spans, np.float32), [-1, 3]).T
  starts, ends = (tf.cast(column, tf.int32) for column in columns[:2])
  logits = [columns[2], 0 * columns[2]]
  return Candidates(
    *(0 * starts, 0 * starts, starts, ends),
    *map(tf.constant, 2 * logits),
  )


_EQUAL = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 5.0)]


@pytest.mark.parametrize(
  ("spans", "text", "n_best_size", "entries"),
  [
    # ab (3), cd (2), the other ab, "ab ab" (0.5), a (0)
    (
      [(0, 2, 1.0), (3, 5, 3.0), (6, 8, 2.0), (0, 5, 0.5), (0, 1, 0.0)],
      "ab ab cd",
      4,
      [(3, 5, 3.0), (6, 8, 2.0), (0, 5, 0.5), (0, 1, 0.0)],
    ),
    # Of equal scores the first one comes first.
    (_EQUAL, "abc", 2, [(2, 3, 5.0), (0, 1, 1.0)]),
    (_EQUAL, "abc", 5, [(2, 3, 5.0), (0, 1, 1.0), (1, 2, 1.0)]),
    ([], "", 3, []),
  ],
)
def test_the_best_texts_are_listed_once(spans, text, n_best_size, entries):
  text = tf.constant(list(text.encode("utf-8")), tf.int32)
  found = distinct_entries(_candidates(spans), text, n_best_size)
  assert found.count.numpy() == [len(entries)]
  padding = [(0, 0, 0.0)] * (n_best_size - len(entries))
  columns = (found.char_start, found.char_end, found.score)
  rows = zip(*(column[0].numpy().tolist() for column in columns), strict=True)
  assert list(rows) == entries + padding
