"""Soft B/I/O labels, by hand."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span import SquadExample, WindowOptions
from bert_span.data.bio_preprocessor import BioPreprocessor, tag_labels
from bert_span.data.window_batches import labelled_batches
from bert_span.modeling.tags import TAGS
from bert_span.squad.example import AnswerSpan

# "the old mill burned", one token a word.
_STARTS = np.array([0, 4, 8, 13])
_ENDS = np.array([3, 7, 12, 19])
_THE_OLD_MILL = (AnswerSpan("the old mill", 0),)
_OLD_MILL = (AnswerSpan("old mill", 4),)
_MILL = (AnswerSpan("mill", 8),)
_B, _I, _O = np.eye(3)
_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "q", *"abcde"]


def _labels(*annotators, annotator_labels="soft"):
  return tag_labels(annotators, _STARTS, _ENDS, annotator_labels)


def test_labels_are_the_shares_of_the_annotators():
  labels = _labels(_THE_OLD_MILL, _OLD_MILL, _OLD_MILL)
  expected = [[1 / 3, 0, 2 / 3], [2 / 3, 1 / 3, 0], [0, 1, 0], [0, 0, 1]]
  assert labels.dtype == np.float32
  np.testing.assert_allclose(labels, expected, rtol=1e-7)


@pytest.mark.parametrize(
  ("annotator_labels", "annotators", "tags"),
  [
    # The first annotator whose answer is located.
    ("first", [(AnswerSpan("nowhere", -1),), _OLD_MILL, _MILL], "OBIO"),
    ("majority", [_THE_OLD_MILL, _MILL, _MILL], "OOBO"),
    # A tie goes to the earliest annotator.
    ("majority", [_OLD_MILL, _MILL], "OBIO"),
    ("majority", [_MILL, _OLD_MILL], "OOBO"),
    # the: B O O, old: I B O, mill: I I B. Most say O, then old ties to I: an I
    # after an O becomes B.
    ("majority", [_THE_OLD_MILL, _OLD_MILL, _MILL], "OBIO"),
    # Several spans of an annotator, in any order.
    ("soft", [(AnswerSpan("burned", 13), AnswerSpan("the old", 0))], "BIOB"),
    ("soft", [(AnswerSpan("the", 0), AnswerSpan("old mill", 4))], "BBIO"),
    # Spans that overlap, or share a token, are one.
    ("soft", [(AnswerSpan("the old", 0), AnswerSpan("old mill", 4))], "BIIO"),
    ("soft", [(AnswerSpan("bu", 13), AnswerSpan("ed", 17))], "OOOB"),
    # A span labels every token that it overlaps.
    ("soft", [(AnswerSpan("d mil", 6),)], "OBIO"),
  ],
)
def test_tags_of_spans(annotator_labels, annotators, tags):
  labels = _labels(*annotators, annotator_labels=annotator_labels)
  np.testing.assert_array_equal(
    labels, [np.eye(3)[TAGS.index(t)] for t in tags]
  )


def test_annotators_without_a_located_answer_do_not_count():
  # One without an answer labels all tokens O.
  labels = _labels((), _MILL)
  np.testing.assert_array_equal(labels[2], [0.5, 0, 0.5])
  np.testing.assert_array_equal(labels[[0, 1, 3]], [_O] * 3)
  lost, blank = (AnswerSpan("nowhere", -1),), (AnswerSpan(" ", 3),)
  np.testing.assert_array_equal(_labels(lost, blank, _MILL)[2], _B)
  assert _labels(lost, blank) is _labels() is None


@pytest.mark.large
def test_a_window_that_cuts_a_span_is_labelled_with_the_part_inside():
  """Windows "a b c", "c d e": the span "b c d" is cut by both."""
  preprocessor = BioPreprocessor(_VOCABULARY, options=WindowOptions(7, 2, 1))
  examples = [
    SquadExample("cut", "q", "a b c d e", (AnswerSpan("b c d", 2),)),
    SquadExample("none", "q", "a", (), is_impossible=True),
    SquadExample("lost", "q", "a", (AnswerSpan("x", -1),)),
  ]
  ((_, _, labels, is_labelled),) = labelled_batches(examples, preprocessor)
  none = np.zeros(3)
  np.testing.assert_array_equal(
    labels["tag_labels"],
    [
      [none, none, none, _O, _B, _I, none],
      [none, none, none, _I, _I, _O, none],
      [none, none, none, _O, none, none, none],
      [none] * 7,
    ],
  )
  assert is_labelled.tolist() == [True, True, True, False]
  # The same of strings, as keras.Model.fit gives them.
  x = {"question": ["q"] * 2, "context": ["a b c d e", "a"]}
  y = {"answer_text": [[["b c d"]], [[]]], "answer_start": [[[2]], [[]]]}
  batches = tf.data.Dataset.from_tensor_slices(
    (x, preprocessor.label_tensors(y))
  ).batch(2)
  ((_, in_graph),) = batches.map(preprocessor)
  for _, found in (preprocessor(x, y), (None, in_graph)):
    np.testing.assert_array_equal(found["tag_logits"], labels["tag_labels"][:3])
