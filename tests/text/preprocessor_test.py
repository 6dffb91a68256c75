"""Strings to labelled windows, by hand."""

import numpy as np
import pytest
import tensorflow as tf
from tiny_extractor import BYTE_PAIRS

from bert_span import SpanPreprocessor, SquadExample, WindowOptions
from bert_span.data.window_batches import example_arrays
from bert_span.squad.example import Answer

_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "came", "?", "john", "smith"),
  *(".", "É", "e", "a"),
]
_OPTIONS = WindowOptions(9, 1, 3)


@pytest.fixture(scope="module")
def preprocessor():
  return SpanPreprocessor(_VOCABULARY, options=_OPTIONS)


def _inputs(questions, contexts, answers):
  examples = [
    SquadExample("", q, c, (Answer(a, c.find(a) if a else -1),))
    for q, c, a in zip(questions, contexts, answers, strict=True)
  ]
  arrays = example_arrays(examples, with_answers=True)
  return {name: tf.constant(values) for name, values in arrays.items()}


def test_a_question_and_a_passage_become_a_window(preprocessor):
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
  examples = zip(questions, contexts, answers, strict=True)
  alone = [max_padded(_inputs(*([x] for x in example))) for example in examples]
  assert together.pop("example_index")[-1] == 3
  for name, values in together.items():
    expected = np.concatenate([windows[name] for windows in alone])
    np.testing.assert_array_equal(values, expected, err_msg=name)


def test_byte_pairs_have_two_separators_and_labels_of_their_characters():
  options = WindowOptions(10, 1, 3)
  preprocessor = SpanPreprocessor(BYTE_PAIRS, options=options)
  tokens = BYTE_PAIRS.tokens
  windows = preprocessor(_inputs(["a?"], ["he in"], ["in"]))
  # "in" has the space before it.
  expected = ["<s>", "a", "?", "</s>", "</s>", "h", "e", "Ġin", "</s>"]
  assert [tokens[i] for i in windows["input_ids"][0]] == expected
  assert windows["first_context_position"].numpy().tolist() == [5]
  assert windows["token_char_starts"][0, 5:8].numpy().tolist() == [0, 1, 3]
  for name in ("start_positions", "end_positions"):
    assert windows[name].numpy().tolist() == [7]
  copy = SpanPreprocessor.from_config(preprocessor.get_config())
  for name, values in copy(_inputs(["a?"], ["he in"], ["in"])).items():
    np.testing.assert_array_equal(values, windows[name], err_msg=name)
  padded = SpanPreprocessor(BYTE_PAIRS, options=options, pad_to_max=True)
  ids = padded(_inputs(["a?"], ["he in"], ["in"]))["input_ids"]
  assert ids[0, 9:].numpy().tolist() == [tokens.index("<pad>")]
  with pytest.raises(ValueError, match="at least 6"):
    SpanPreprocessor(BYTE_PAIRS, options=WindowOptions(5, 1, 1))
