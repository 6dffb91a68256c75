"""Packed windows with B/I/O labels, by hand."""

import numpy as np
import pytest

from bert_span.data.bio_labels import BIO_LABELS
from bert_span.data.labelled_windows import make_training_set
from bert_span.data.length_buckets import BucketedBatches
from bert_span.squad.example import Answer, SquadExample
from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor


def make_bio_windows(examples, preprocessor, *labels, **options):
  made = make_training_set(
    examples, preprocessor, BIO_LABELS, *labels, **options
  )
  return made.windows, made.left_out


_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "q", "a", "b", "c", "d", "e"]
_CLS, _SEP, _Q, _A, _B, _C, _D, _E = range(2, 10)
_BEGIN, _INSIDE, _OUTSIDE = np.eye(3)
_NONE = np.zeros(3)

# Three tokens of the passage in a window: "a b c", "c d e".
_LONG = SquadExample("long", "q", "a b c d e", (Answer("d", 6),))
_SHORT = SquadExample("short", "q", "b", (Answer("b", 0), Answer("x", -1)))
_IMPOSSIBLE = SquadExample("no", "q", "a b c d", (), is_impossible=True)
_WITHOUT_TOKEN = SquadExample("zero", "q", "a\u200b", (Answer("\u200b", 1),))


@pytest.fixture(scope="module")
def preprocessor():
  return SpanPreprocessor(_VOCABULARY, options=WindowOptions(7, 2, 1))


def test_labels_are_packed_with_their_tokens(preprocessor):
  windows, left_out = make_bio_windows([_LONG, _SHORT], preprocessor)
  assert left_out == (0, [])
  assert len(windows) == 3
  assert windows.num_answerless == 1
  np.testing.assert_array_equal(windows.lengths, [7, 7, 5])
  np.testing.assert_array_equal(
    windows.labels["tag_labels"],
    [
      *(_NONE, _NONE, _NONE, _OUTSIDE, _OUTSIDE, _OUTSIDE, _NONE),
      *(_NONE, _NONE, _NONE, _OUTSIDE, _BEGIN, _OUTSIDE, _NONE),
      *(_NONE, _NONE, _NONE, _BEGIN, _NONE),
    ],
  )


def test_a_batch_is_padded_and_padding_has_no_label(preprocessor):
  windows, _ = make_bio_windows([_LONG, _SHORT], preprocessor)
  batch = windows.batch(np.array([2, 1]), 8)
  np.testing.assert_array_equal(
    batch["input_ids"],
    [
      [_CLS, _Q, _SEP, _B, _SEP, 0, 0, 0],
      [_CLS, _Q, _SEP, _C, _D, _E, _SEP, 0],
    ],
  )
  np.testing.assert_array_equal(
    batch["segment_ids"], [[0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0]]
  )
  np.testing.assert_array_equal(
    batch["tag_labels"],
    [
      [*[_NONE] * 3, _BEGIN, *[_NONE] * 4],
      [*[_NONE] * 3, _OUTSIDE, _BEGIN, _OUTSIDE, *[_NONE] * 2],
    ],
  )
  assert batch["tag_labels"].dtype == np.float32


def test_answerless_windows_are_dropped_of_answerable_questions_only(
  preprocessor,
):
  windows, left_out = make_bio_windows(
    [_LONG, _IMPOSSIBLE, _SHORT], preprocessor, drop_answerless=True
  )
  assert left_out.num_answerless == 1  # the first of _LONG
  assert windows.has_answer.tolist() == [True, False, False, True]
  assert windows.token_ids[3] == _C


def test_answers_without_a_token_are_left_out_and_named(preprocessor):
  windows, left_out = make_bio_windows([_WITHOUT_TOKEN, _SHORT], preprocessor)
  assert left_out.without_token == ["zero"]
  assert len(windows) == 1
  with pytest.raises(ValueError, match=r"1 training examples.*--train_file"):
    make_bio_windows([_WITHOUT_TOKEN], preprocessor)


def test_what_annotators_are_made_of_is_passed_on(preprocessor):
  example = SquadExample(
    "1", "q", "a b", annotations=((Answer("a", 0),), (Answer("b", 2),))
  )
  soft, _ = make_bio_windows([example], preprocessor)
  np.testing.assert_array_equal(soft.labels["tag_labels"][3], [0.5, 0, 0.5])
  first, _ = make_bio_windows([example], preprocessor, "first")
  np.testing.assert_array_equal(
    first.labels["tag_labels"][3:5], [_BEGIN, _OUTSIDE]
  )


def test_length_buckets_serve_labels_of_every_token(preprocessor):
  windows, _ = make_bio_windows([_LONG, _SHORT] * 4, preprocessor)
  batches = BucketedBatches(windows, 4, 8, 4, seed=1)
  spec = batches.dataset(0).element_spec
  assert spec["tag_labels"].shape.as_list() == [4, None, 3]
  for batch in batches.dataset(0).take(3).as_numpy_iterator():
    assert batch["tag_labels"].shape == (*batch["input_ids"].shape, 3)
    num_passage = (batch["input_ids"] >= _A).sum()
    assert batch["tag_labels"].sum() == num_passage
