"""Packed training windows, by hand."""

import dataclasses

import numpy as np
import pytest

from bert_span.data.labelled_windows import make_training_set
from bert_span.data.span_labels import SPAN_LABELS
from bert_span.squad.example import Answer, SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor


def make_training_windows(examples, preprocessor, **options):
  made = make_training_set(examples, preprocessor, SPAN_LABELS, **options)
  return made.windows, made.left_out


_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "q", "a", "b", "c", "d", "e"]
_CLS, _SEP, _Q, _A, _B, _C, _D, _E = range(2, 10)


def _example(context, *answers, is_impossible=False):
  return SquadExample("id", "q", context, answers, is_impossible)


# Three tokens of the passage in a window: "a b c", "c d e".
_LONG = _example("a b c d e", Answer("d", 6))
_SHORT = _example("b", Answer("b", 0), Answer("none", -1))
_IMPOSSIBLE = _example("a b c d", is_impossible=True)


@pytest.fixture(scope="module")
def preprocessor():
  return SpanPreprocessor(_VOCABULARY, options=WindowOptions(7, 2, 1))


@pytest.fixture(scope="module")
def windows(preprocessor):
  """Those of _LONG and _SHORT."""
  result, left_out = make_training_windows([_LONG, _SHORT], preprocessor)
  assert left_out == (0, [])
  return result


def test_windows_are_packed_in_order_with_their_labels(windows):
  assert len(windows) == 3
  np.testing.assert_array_equal(windows.lengths, [7, 7, 5])
  np.testing.assert_array_equal(
    windows.token_ids,
    [
      *(_CLS, _Q, _SEP, _A, _B, _C, _SEP),
      *(_CLS, _Q, _SEP, _C, _D, _E, _SEP),
      *(_CLS, _Q, _SEP, _B, _SEP),
    ],
  )
  np.testing.assert_array_equal(windows.labels["start_positions"], [0, 4, 3])
  np.testing.assert_array_equal(windows.labels["end_positions"], [0, 4, 3])
  np.testing.assert_array_equal(windows.first_context_positions, [3, 3, 3])
  assert windows.num_answerless == 1


def test_a_batch_is_padded_and_in_the_order_asked_for(windows):
  batch = windows.batch(np.array([2, 1]), 8)
  np.testing.assert_array_equal(
    batch["input_ids"],
    [
      [_CLS, _Q, _SEP, _B, _SEP, 0, 0, 0],
      [_CLS, _Q, _SEP, _C, _D, _E, _SEP, 0],
    ],
  )
  np.testing.assert_array_equal(
    batch["input_mask"], [[1] * 5 + [0] * 3, [1] * 7 + [0]]
  )
  np.testing.assert_array_equal(
    batch["segment_ids"], [[0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0]]
  )
  np.testing.assert_array_equal(batch["start_positions"], [3, 4])
  np.testing.assert_array_equal(batch["end_positions"], [3, 4])
  assert {value.dtype for value in batch.values()} == {np.dtype(np.int32)}


def test_select_keeps_windows_whole(windows):
  kept = windows.select(np.array([True, False, True]))
  np.testing.assert_array_equal(kept.lengths, [7, 5])
  for name, expected in windows.batch(np.array([0, 2]), 7).items():
    np.testing.assert_array_equal(kept.batch(np.arange(2), 7)[name], expected)


def test_answerless_windows_are_dropped_of_answerable_questions_only(
  preprocessor,
):
  examples = [_LONG, _IMPOSSIBLE, _SHORT]
  windows, left_out = make_training_windows(
    examples, preprocessor, drop_answerless=True
  )
  assert left_out == (1, [])  # the first of _LONG
  np.testing.assert_array_equal(windows.labels["start_positions"], [4, 0, 0, 3])
  assert windows.token_ids[3] == _C
  assert windows.num_answerless == 2


def test_answers_of_an_impossible_question_are_not_learned(preprocessor):
  example = _example("a b", Answer("a", 0), is_impossible=True)
  windows, left_out = make_training_windows(
    [example], preprocessor, drop_answerless=True
  )
  np.testing.assert_array_equal(windows.labels["end_positions"], [0])
  assert left_out == (0, [])


@pytest.mark.parametrize("drop_answerless", [False, True])
def test_an_answer_without_a_token_is_left_out_and_named(
  preprocessor, drop_answerless
):
  """Its windows teach neither a span nor that there is none."""
  nothing = SquadExample("zero", "q", "a \u200b b", (Answer("\u200b", 2),))
  windows, left_out = make_training_windows(
    [_SHORT, nothing, _IMPOSSIBLE],
    preprocessor,
    drop_answerless=drop_answerless,
  )
  assert left_out == (0, ["zero"])
  assert windows.labels["start_positions"].tolist() == [3, 0, 0]


def test_batches_of_examples_are_joined_in_order(preprocessor):
  """150 examples are three batches; padding differs from batch to batch."""
  examples = [_SHORT] * 70 + [_LONG] * 80
  windows, _ = make_training_windows(
    examples, preprocessor, drop_answerless=True
  )
  assert windows.labels["start_positions"].tolist() == [3] * 70 + [4] * 80
  assert windows.lengths.tolist() == [5] * 70 + [7] * 80


def test_passages_without_a_token_are_an_error_that_names_the_flag(
  preprocessor,
):
  with pytest.raises(ValueError, match=r"2 training examples.*--train_file"):
    make_training_windows([_example(" "), _example("\u200b")], preprocessor)


def test_answers_without_a_token_alone_are_an_error(preprocessor):
  nothing = _example("a \u200b b", Answer("\u200b", 2))
  with pytest.raises(ValueError, match=r"hold no answer.*--train_file"):
    make_training_windows([nothing], preprocessor)


def test_the_digest_tells_tokens_and_labels_apart(windows):
  assert windows.digest() == dataclasses.replace(windows).digest()
  token_ids = windows.token_ids.copy()
  token_ids[-1] += 1
  other = dataclasses.replace(windows, token_ids=token_ids)
  assert other.digest() != windows.digest()
  starts = windows.labels["start_positions"] + 1
  labels = {**windows.labels, "start_positions": starts}
  other = dataclasses.replace(windows, labels=labels)
  assert other.digest() != windows.digest()
