"""Strings to labelled windows: by hand, then against the original's."""

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


def _inputs(questions, contexts, answers=None):
  inputs = {
    "question": tf.constant(questions),
    "context": tf.constant(contexts),
  }
  if answers is not None:
    starts = [
      c.find(a) if a else -1 for c, a in zip(contexts, answers, strict=True)
    ]
    ends = [
      s + len(a) if a else -1 for s, a in zip(starts, answers, strict=True)
    ]
    inputs["answer_text"] = tf.constant(answers)
    inputs["answer_char_start"] = tf.constant(starts)
    inputs["answer_char_end"] = tf.constant(ends)
  return inputs


def _assert_equal(actual, expected):
  assert set(actual) == set(expected)
  for name, value in expected.items():
    np.testing.assert_array_equal(actual[name], value, err_msg=name)


def test_lists_of_python_strings_are_taken_as_tensors_are(preprocessor):
  inputs = {"question": ["Who came?"], "context": ["John came."]}
  _assert_equal(preprocessor(inputs), preprocessor(_inputs(*inputs.values())))
  ids = preprocessor.tokenizer(["John came."]).ids.to_list()
  assert ids == [[_VOCABULARY.index(token) for token in ("john", "came", ".")]]


def test_a_question_and_a_passage_become_a_window(preprocessor):
  windows = preprocessor(_inputs(["Who came?"], ["John came."]))
  tokens = [_VOCABULARY[i] for i in windows["input_ids"][0].numpy()]
  assert tokens == (
    ["[CLS]", "who", "came", "?", "[SEP]", "john", "came", ".", "[SEP]"]
  )
  assert windows["token_char_starts"].numpy().tolist() == [
    [-1, -1, -1, -1, -1, 0, 5, 9, -1]
  ]
  assert windows["token_char_ends"].numpy().tolist() == [
    [-1, -1, -1, -1, -1, 4, 9, 10, -1]
  ]
  assert "start_positions" not in windows


def test_questions_about_one_passage_get_what_they_would_get_alone(
  preprocessor,
):
  passage = "John Smith came. John came."
  other = "a Smith a"
  questions = ["who", "came?", "who came", ""]
  contexts = [passage, other, passage, passage]
  answers = ["Smith", "a", "came", ""]
  together = preprocessor(_inputs(questions, contexts, answers))
  max_padded = SpanPreprocessor(_VOCABULARY, options=_OPTIONS, pad_to_max=True)
  alone = [
    max_padded(_inputs([question], [context], [answer]))
    for question, context, answer in zip(
      questions, contexts, answers, strict=True
    )
  ]
  assert together["input_ids"].shape[1] == _OPTIONS.max_seq_length
  _assert_equal(
    {k: v for k, v in together.items() if k != "example_index"},
    {
      name: np.concatenate([windows[name] for windows in alone])
      for name in together
      if name != "example_index"
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
  inputs = {
    "question": tf.constant([], tf.string),
    "context": tf.constant([], tf.string),
    "answer_text": tf.constant([], tf.string),
    "answer_char_start": tf.constant([], tf.int32),
    "answer_char_end": tf.constant([], tf.int32),
  }
  for name, value in preprocessor(inputs).items():
    assert value.shape[0] == 0, name


def test_get_config_rebuilds_the_layer():
  layer = SpanPreprocessor(
    _VOCABULARY, do_lower_case=False, options=_OPTIONS, pad_to_max=True
  )
  rebuilt = SpanPreprocessor.from_config(layer.get_config())
  assert rebuilt.get_config() == layer.get_config()
  inputs = _inputs(["É?"], ["a É e"], ["É"])
  _assert_equal(rebuilt(inputs), layer(inputs))
  assert "É" in [_VOCABULARY[i] for i in rebuilt(inputs)["input_ids"][0]]
