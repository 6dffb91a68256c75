"""Batches of examples, their windows, and rows of these."""

import numpy as np
import pytest

from bert_span import SpanPreprocessor, SquadExample, WindowOptions
from bert_span.data import window_batches as batches_lib
from bert_span.data.bio_preprocessor import BioPreprocessor
from bert_span.data.window_batches import (
  example_arrays,
  example_batches,
  labelled_batches,
  window_batches,
  window_rows,
)
from bert_span.squad.example import AnswerSpan

_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d"]


def _example(context, *answers):
  return SquadExample("id", "a", context, answers)


def test_arrays_hold_the_texts_of_examples():
  arrays = example_arrays([_example("b"), _example("\ud83d b")])
  assert arrays["question"].tolist() == [b"a", b"a"]
  assert arrays["context"].tolist() == [b"b", "\ufffd b".encode()]


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


@pytest.mark.usefixtures("eager")
def test_batches_hold_the_windows_of_their_examples_in_order(monkeypatch):
  monkeypatch.setattr(batches_lib, "CHARACTERS_PER_BATCH", 6)
  examples = [
    _example("b", AnswerSpan("b", 0)),
    _example("c\x00"),
    _example("b c d", AnswerSpan("d", 4)),
    _example(""),
    _example("d"),
  ]
  preprocessor = SpanPreprocessor(_VOCABULARY, options=WindowOptions(6, 1, 1))
  batches = list(window_batches(examples, preprocessor))
  assert [example for batch, _ in batches for example in batch] == examples
  labelled = [
    windows | labels
    for _, windows, labels, _ in labelled_batches(examples, preprocessor)
  ]
  for name, expected in (
    ("example_index", [[0, 1], [0, 0], [1]]),
    ("start_positions", [[3, 0], [0, 4], [0]]),
  ):
    assert [windows[name].tolist() for windows in labelled] == expected
  np.testing.assert_array_equal(batches[-1][1]["token_ids"], [[2, 4, 3, 7, 3]])
  assert not list(window_batches([], preprocessor))


@pytest.mark.usefixtures("eager")
def test_rows_are_windows_with_their_labels():
  """Windows "b c" and "d" of a passage."""
  options = WindowOptions(6, 2, 1)
  span, bio = (
    kind(_VOCABULARY, options=options)
    for kind in (SpanPreprocessor, BioPreprocessor)
  )
  examples = [_example("b c d", AnswerSpan("c", 2))]
  rows = list(window_rows(examples, span, is_labelled=True))
  assert rows == [
    {
      "qas_id": "id",
      "doc_span_index": 0,
      "input_ids": [2, 4, 3, 5, 6, 3],
      "segment_ids": [0, 0, 0, 1, 1, 1],
      "start_position": 4,
      "end_position": 4,
      "token_char_spans": [None, None, None, [0, 1], [2, 3], None],
      "max_context": [0, 0, 0, 1, 1, 0],
    },
    {
      "qas_id": "id",
      "doc_span_index": 1,
      "input_ids": [2, 4, 3, 7, 3],
      "segment_ids": [0, 0, 0, 1, 1],
      "start_position": 0,
      "end_position": 0,
      "token_char_spans": [None, None, None, [4, 5], None],
      "max_context": [0, 0, 0, 1, 0],
    },
  ]
  none = {"start_position": None, "end_position": None}
  without = list(window_rows(examples, span, is_labelled=False))
  assert without == [row | none for row in rows]
  outside, begin = [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]
  tags = [row["tag_labels"] for row in window_rows(examples, bio, True)]
  assert tags == [
    [None, None, None, outside, begin, None],
    [None, None, None, outside, None],
  ]
