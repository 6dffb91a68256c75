"""Examples as arrays and as batches of windows."""

import numpy as np
import pytest

from bert_span.data import window_batches as batches_lib
from bert_span.data.window_batches import (
  example_arrays,
  example_batches,
  window_batches,
)
from bert_span.squad.example import Answer, SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d"]


def _example(context, *answers, is_impossible=False):
  return SquadExample("id", "a", context, answers, is_impossible)


@pytest.mark.parametrize(
  ("example", "text", "start", "end"),
  [
    # Only the first answer is learned.
    (_example("b c", Answer("c", 2), Answer("b", 0)), "c", 2, 3),
    # Offsets count characters, not bytes.
    (_example("中 é🙂x", Answer("é🙂", 2)), "é🙂", 2, 4),
    (_example("b"), "", -1, -1),
    (_example("b", Answer("b", 0), is_impossible=True), "", -1, -1),
    (_example("b", Answer("x", -1)), "x", -1, -1),
  ],
)
def test_the_answer_that_is_learned(example, text, start, end):
  arrays = example_arrays([example], with_answers=True)
  assert arrays["answer_text"].tolist() == [text.encode()]
  assert arrays["answer_char_start"].tolist() == [start]
  assert arrays["answer_char_end"].tolist() == [end]


def test_zero_bytes_at_the_end_and_lone_surrogates_keep_their_place():
  assert set(example_arrays([_example("b")])) == {"question", "context"}
  arrays = example_arrays([_example("b\x00\x00"), _example("\ud83d b")])
  assert arrays["context"].tolist() == [b"b\x00\x00", "\ufffd b".encode()]


def test_a_batch_ends_at_64_examples_or_where_characters_are_too_many():
  limit = batches_lib.CHARACTERS_PER_BATCH
  paragraph = _example("b" * 800)
  sizes = [len(batch) for batch in example_batches([paragraph] * 130)]
  assert sizes == [64, 64, 2]
  book = _example("b" * limit)  # and a question of one character
  half = _example("b" * (limit // 2 - 1))
  batches = example_batches([paragraph, book, half, half, paragraph])
  assert batches == [[paragraph], [book], [half, half], [paragraph]]
  assert example_batches([]) == []


def test_batches_hold_the_windows_of_their_examples_in_order(monkeypatch):
  monkeypatch.setattr(batches_lib, "CHARACTERS_PER_BATCH", 6)
  examples = [
    _example("b", Answer("b", 0)),
    _example("c\x00"),
    _example("b c d", Answer("d", 4)),
    _example(""),
    _example("d"),
  ]
  preprocessor = SpanPreprocessor(_VOCABULARY, options=WindowOptions(6, 1, 1))
  batches = list(window_batches(examples, preprocessor, with_answers=True))
  assert [example for batch, _ in batches for example in batch] == examples
  for name, expected in (
    ("example_index", [[0, 1], [0, 0], [1]]),
    ("start_positions", [[3, 0], [0, 4], [0]]),
  ):
    assert [windows[name].tolist() for _, windows in batches] == expected
  np.testing.assert_array_equal(batches[-1][1]["input_ids"], [[2, 4, 3, 7, 3]])
  assert not list(window_batches([], preprocessor))
