"""Strings to labelled windows, by hand."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.text.options import WindowOptions
from bert_span.text.preprocessor import SpanPreprocessor

_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "came", "?", "john", "smith"),
  *(".", "É", "e", "a"),
]
_OPTIONS = WindowOptions(9, 1, 3)


@pytest.fixture(scope="module")
def preprocessor():
  return SpanPreprocessor(_VOCABULARY, options=_OPTIONS)


def _inputs(questions, contexts, answers):
  pairs = list(zip(contexts, answers, strict=True))
  starts = [c.find(a) if a else -1 for c, a in pairs]
  ends = [s + len(a) if a else -1 for s, a in zip(starts, answers, strict=True)]
  return {
    "question": tf.constant(questions, tf.string),
    "context": tf.constant(contexts, tf.string),
    "answer_text": tf.constant(answers, tf.string),
    "answer_char_start": tf.constant(starts, tf.int32),
    "answer_char_end": tf.constant(ends, tf.int32),
  }


def _assert_equal(actual, expected):
  assert set(actual) == set(expected)
  for name, value in expected.items():
    np.testing.assert_array_equal(actual[name], value, err_msg=name)


def test_a_question_and_a_passage_become_a_window(preprocessor):
  """Lists of strings are accepted as tensors are."""
  windows = preprocessor(
    {"question": ["Who came?"], "context": tf.constant(["John came."])}
  )
  tokens = [_VOCABULARY[i] for i in windows["input_ids"][0].numpy()]
  assert tokens == (
    ["[CLS]", "who", "came", "?", "[SEP]", "john", "came", ".", "[SEP]"]
  )
  outside, (starts,) = [-1] * 5, windows["token_char_starts"].numpy().tolist()
  (ends,) = windows["token_char_ends"].numpy().tolist()
  assert starts == [*outside, 0, 5, 9, -1]
  assert ends == [*outside, 4, 9, 10, -1]
  assert "start_positions" not in windows


def test_questions_about_one_passage_get_what_they_would_get_alone(
  preprocessor,
):
  passage = "John Smith came. John came."
  questions = ["who", "came?", "who came", ""]
  contexts = [passage, "a Smith a", passage, passage]
  answers = ["Smith", "a", "came", ""]
  together = preprocessor(_inputs(questions, contexts, answers))
  max_padded = SpanPreprocessor(_VOCABULARY, options=_OPTIONS, pad_to_max=True)
  alone = [
    max_padded(_inputs([question], [context], [answer]))
    for question, context, answer in zip(
      questions, contexts, answers, strict=True
    )
  ]
  assert together.pop("example_index")[-1] == 3
  _assert_equal(
    together,
    {
      name: np.concatenate([windows[name] for windows in alone])
      for name in together
    },
  )


def test_eager_graph_and_tf_data_agree(preprocessor):
  inputs = _inputs(["who", "who"], ["John Smith came.", "a"], ["came", "a"])
  eager = preprocessor(inputs)
  _assert_equal(tf.function(preprocessor.call)(inputs), eager)
  dataset = tf.data.Dataset.from_tensor_slices(inputs).batch(2)
  (from_data,) = dataset.map(preprocessor)
  _assert_equal(from_data, eager)


def test_no_example_gives_no_window(preprocessor):
  for name, value in preprocessor(_inputs([], [], [])).items():
    assert value.shape[0] == 0, name
