"""Labelled windows of both heads, packed, by hand."""

import dataclasses

import numpy as np
import pytest

from bert_span import SpanPreprocessor, SquadExample, WindowOptions
from bert_span.data.bio_preprocessor import BioPreprocessor
from bert_span.data.labelled_windows import Skipped, label_windows
from bert_span.squad.example import AnswerSpan

pytestmark = pytest.mark.usefixtures("eager")
_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "q", "a", "b", "c", "d", "e"]
_CLS, _SEP, _Q, _A, _B, _C, _D, _E = range(2, 10)
_BEGIN, _, _OUTSIDE = np.eye(3)
_NONE = np.zeros(3)

# Three tokens of the passage in a window: "a b c", "c d e".
_LONG = SquadExample("long", "q", "a b c d e", (AnswerSpan("d", 6),))
_SHORT = SquadExample(
  "short", "q", "b", (AnswerSpan("b", 0), AnswerSpan("none", -1))
)
_IMPOSSIBLE = SquadExample("no", "q", "a b c d", (), is_impossible=True)
_WITHOUT_TOKEN = SquadExample(
  "zero", "q", "a \u200b b", (AnswerSpan("\u200b", 2),)
)
_OPTIONS = WindowOptions(7, 2, 1)
_SPAN = SpanPreprocessor(_VOCABULARY, options=_OPTIONS)
_BIO = BioPreprocessor(_VOCABULARY, options=_OPTIONS)
_of_both_heads = pytest.mark.parametrize("preprocessor", [_SPAN, _BIO])


@pytest.fixture(scope="module")
def both_windows():
  """The labelled windows of two examples, for a span and for a B/I/O head."""
  labelled = [
    label_windows([_LONG, _SHORT], preprocessor)
    for preprocessor in (_SPAN, _BIO)
  ]
  assert [each[1:] for each in labelled] == [(2, (0, []))] * 2
  return [each.windows for each in labelled]


def test_a_batch_is_padded_and_in_the_order_asked_for(both_windows):
  span_windows, bio_windows = both_windows
  for windows in both_windows:
    assert windows.has_answer.tolist() == [False, True, True]
    assert windows.num_without_answer == 1
  batch = span_windows.batch(np.array([2, 0, 1]), 8)
  expected = {
    "token_ids": [
      [_CLS, _Q, _SEP, _B, _SEP, 0, 0, 0],
      [_CLS, _Q, _SEP, _A, _B, _C, _SEP, 0],
      [_CLS, _Q, _SEP, _C, _D, _E, _SEP, 0],
    ],
    "padding_mask": [[1] * 5 + [0] * 3, *[[1] * 7 + [0]] * 2],
    "segment_ids": [[0, 0, 0, 1, 1, 0, 0, 0], *[[0, 0, 0, 1, 1, 1, 1, 0]] * 2],
    "start_positions": [3, 0, 4],
    "end_positions": [3, 0, 4],
  }
  assert list(batch) == list(expected)
  for name, values in expected.items():
    assert (batch[name].dtype, batch[name].tolist()) == (np.int32, values)
  tags = bio_windows.batch(np.array([2, 0, 1]), 8)["tag_labels"]
  assert tags.dtype == np.float32
  np.testing.assert_array_equal(
    tags,
    [
      [*[_NONE] * 3, _BEGIN, *[_NONE] * 4],
      [*[_NONE] * 3, _OUTSIDE, _OUTSIDE, _OUTSIDE, *[_NONE] * 2],
      [*[_NONE] * 3, _OUTSIDE, _BEGIN, _OUTSIDE, *[_NONE] * 2],
    ],
  )


@_of_both_heads
def test_windows_without_the_answer_are_dropped_of_answerable_questions_only(
  preprocessor,
):
  found = label_windows(
    [_LONG, _IMPOSSIBLE, _SHORT], preprocessor, drop_without_answer=True
  )
  assert found.skipped == (1, [])  # the first of _LONG
  assert found.windows.has_answer.tolist() == [True, False, False, True]
  assert found.windows.token_ids[3] == _C
  # The answers of an impossible question are not learned.
  if preprocessor is _SPAN:
    example = SquadExample("no", "q", "a b", (AnswerSpan("a", 0),), True)
    found = label_windows([example], preprocessor, drop_without_answer=True)
    assert found.windows.labels["end_positions"].tolist() == [0]
    assert found.skipped == (0, [])


@_of_both_heads
@pytest.mark.parametrize("drop_without_answer", [False, True])
def test_a_question_whose_answer_has_no_token_is_skipped_and_named(
  preprocessor, drop_without_answer
):
  examples = [_SHORT, _WITHOUT_TOKEN, _IMPOSSIBLE]
  found = label_windows(
    examples, preprocessor, drop_without_answer=drop_without_answer
  )
  assert found.skipped == (0, ["zero"])
  assert found.windows.has_answer.tolist() == [True, False, False]


def test_skipped_data_are_reported():
  windows, questions = Skipped(3, ["a", "b", "c", "d"]).lines()
  assert "3 windows" in windows
  assert "4 questions" in questions and "first: a, b, c)" in questions


def test_batches_of_examples_are_joined_in_order():
  # Three batches, which differ in padding.
  examples = [_SHORT] * 70 + [_LONG] * 80
  windows, *_ = label_windows(examples, _SPAN, drop_without_answer=True)
  assert windows.labels["start_positions"].tolist() == [3] * 70 + [4] * 80
  assert windows.lengths.tolist() == [5] * 70 + [7] * 80


@_of_both_heads
@pytest.mark.parametrize("context", ["\u200b", "a \u200b b"])
def test_examples_without_a_window_to_train_on_are_an_error(
  preprocessor, context
):
  answer = AnswerSpan("\u200b", context.index("\u200b"))
  example = SquadExample("1", "q", context, (answer,))
  with pytest.raises(ValueError, match=r"1 training examples.*train_file"):
    label_windows([example], preprocessor)


def test_annotator_labels_are_passed_on():
  annotations = ((AnswerSpan("a", 0),), (AnswerSpan("b", 2),))
  example = SquadExample("1", "q", "a b", annotations=annotations)
  found = label_windows([example], _BIO, "first")
  tags = found.windows.labels["tag_labels"][3:5]
  np.testing.assert_array_equal(tags, [_BEGIN, _OUTSIDE])


def test_the_digest_depends_on_tokens_and_labels(both_windows):
  windows, _ = both_windows
  digests = {windows.digest(), dataclasses.replace(windows).digest()}
  assert len(digests) == 1
  token_ids = windows.token_ids + (np.arange(len(windows.token_ids)) == 18)
  starts = windows.labels["start_positions"] + 1
  labels = {**windows.labels, "start_positions": starts}
  for changes in ({"token_ids": token_ids}, {"labels": labels}):
    digests.add(dataclasses.replace(windows, **changes).digest())
  assert len(digests) == 3
