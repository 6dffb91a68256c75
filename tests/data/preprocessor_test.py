"""Strings to labelled windows, by hand."""

import threading

import numpy as np
import pytest
import tensorflow as tf

from bert_span import SpanPreprocessor, SquadExample, WindowOptions
from bert_span.data.window_batches import labelled_batches
from bert_span.squad.example import AnswerSpan
from tests.support.models import BYTE_PAIRS

pytestmark = pytest.mark.usefixtures("eager")
_VOCABULARY = [
  *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "came", "?", "john", "smith"),
  *(".", "É", "e", "a"),
]
_OPTIONS = WindowOptions(9, 1, 3)


@pytest.fixture(scope="module")
def preprocessor():
  return SpanPreprocessor(_VOCABULARY, options=_OPTIONS)


def _labelled(preprocessor, questions, contexts, answers):
  """Windows and labels; answers are at their first place."""
  examples = [
    SquadExample("", q, c, (AnswerSpan(a, c.find(a) if a else -1),))
    for q, c, a in zip(questions, contexts, answers, strict=True)
  ]
  ((_, windows, labels, _),) = labelled_batches(examples, preprocessor)
  return windows | labels


def test_questions_about_one_passage_get_what_they_would_get_alone(
  preprocessor,
):
  passage = "John Smith came. John came."
  questions = ["who", "came?", "who came", ""]
  contexts = [passage, "a Smith a", passage, passage]
  answers = ["Smith", "a", "came", ""]
  together = _labelled(preprocessor, questions, contexts, answers)
  max_padded = SpanPreprocessor(_VOCABULARY, options=_OPTIONS, pad_to_max=True)
  examples = zip(questions, contexts, answers, strict=True)
  alone = [_labelled(max_padded, *([x] for x in each)) for each in examples]
  assert together.pop("example_index")[-1] == 3
  for name, values in together.items():
    expected = np.concatenate([windows[name] for windows in alone])
    np.testing.assert_array_equal(values, expected, err_msg=name)


def test_byte_pairs_have_two_separators_and_labels_of_their_characters():
  options = WindowOptions(10, 1, 3)
  preprocessor = SpanPreprocessor(BYTE_PAIRS, options=options)
  tokens = BYTE_PAIRS.tokens
  texts = ["a?"], ["he in"], ["in"]
  windows = _labelled(preprocessor, *texts)
  # "in" has the space before it.
  expected = ["<s>", "a", "?", "</s>", "</s>", "h", "e", "Ġin", "</s>"]
  assert [tokens[i] for i in windows["token_ids"][0]] == expected
  assert windows["first_context_position"].tolist() == [5]
  assert windows["token_char_starts"][0, 5:8].tolist() == [0, 1, 3]
  for name in ("start_positions", "end_positions"):
    assert windows[name].tolist() == [7]
  copy = SpanPreprocessor.from_config(preprocessor.get_config())
  for name, values in _labelled(copy, *texts).items():
    np.testing.assert_array_equal(values, windows[name], err_msg=name)
  padded = SpanPreprocessor(BYTE_PAIRS, options=options, pad_to_max=True)
  ids = _labelled(padded, *texts)["token_ids"]
  assert ids[0, 9:].tolist() == [tokens.index("<pad>")]
  with pytest.raises(ValueError, match="at least 6"):
    SpanPreprocessor(BYTE_PAIRS, options=WindowOptions(5, 1, 1))


def test_arrays_have_the_answers_that_are_in_the_passage_and_skip_the_rest(
  preprocessor, capsys
):
  lost, smith = AnswerSpan("Ben", -1), AnswerSpan("Smith", 5)
  context = "John Smith came."
  examples = [
    SquadExample("late", "who", context, (lost, smith)),
    SquadExample("lost", "who", context, (lost,)),
    SquadExample("unlabelled", "who", context),
    SquadExample("no", "came", context, (smith,), is_impossible=True),
  ]
  x, y = preprocessor.arrays_of(examples)
  assert x["question"].tolist() == [b"who", b"came"]
  assert y["answer_text"].tolist() == [b"Smith", b""]
  assert y["answer_start"].tolist() == [5, -1]
  for position in preprocessor(x, y)[1].values():
    assert position.numpy().tolist() == [4, 0]
  err = capsys.readouterr().err
  assert "'lost'" in err and "'unlabelled'" in err and "'no'" not in err


def test_a_preprocessor_makes_the_inputs_and_labels_of_a_model(preprocessor):
  x = {"question": ["who", "came?"], "context": ["John Smith came. a a", "a"]}
  y = {"answer_text": ["Smith", ""], "answer_start": [5, -1]}
  inputs = preprocessor(x)
  # [CLS] who [SEP] and room for five, of which the first passage has six.
  assert inputs["token_ids"].shape == (3, 9)
  assert inputs.keys() == {"token_ids", "segment_ids", "padding_mask"}
  same, labels, weights = preprocessor(x, y, tf.constant([0.5, 2.0]))
  for name, values in inputs.items():
    np.testing.assert_array_equal(same[name], values)
  for position in labels.values():
    assert position.numpy().tolist() == [4, 3, 0]
  assert weights.numpy().tolist() == [0.5, 0.5, 2.0]
  batches = tf.data.Dataset.from_tensor_slices((x, y)).batch(2)
  ((_, in_graph),) = batches.map(preprocessor)
  for name, values in labels.items():
    np.testing.assert_array_equal(in_graph[name], values)
  for start in (6, -2):
    wrong = {"answer_text": ["Smith", ""], "answer_start": [start, -1]}
    with pytest.raises(
      (ValueError, tf.errors.InvalidArgumentError), match=f"char_start {start}"
    ):
      preprocessor(x, wrong)


def test_a_call_with_another_shape_does_not_block_the_next_one(preprocessor):
  windows = preprocessor.windows(
    {name: tf.constant(["who"]) for name in ("question", "context")}
  )
  windows = {name: values.numpy() for name, values in windows.items()}
  labels = []

  def label(texts):
    y = {"answer_text": np.array(texts, object), "answer_start": [0]}
    labels.append(preprocessor.label([b"who"], y, windows)[0])

  # A tf.function would stay locked; the fixture runs without.
  tf.config.run_functions_eagerly(False)
  with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
    label([[b"who"]])
  thread = threading.Thread(target=label, args=[[b"who"]], daemon=True)
  thread.start()
  thread.join(timeout=60)
  assert labels[0]["start_positions"].tolist() == [3]


def test_specs_of_a_dataset_are_checked_as_its_tensors_are(preprocessor):
  x = {name: ["who", "came"] for name in ("question", "context")}
  y = {"answer_text": ["", ""], "answer_start": [-1, -1]}
  dataset = tf.data.Dataset.from_tensor_slices((x, y, [1, 2]))
  preprocessor.tensors(*dataset.batch(2).element_spec)
  with pytest.raises(ValueError, match=r"question .*batch"):
    preprocessor.tensors(*dataset.element_spec)
  # Text with -1 is no unanswerable question.
  y["answer_text"] = ["", "came"]
  with pytest.raises(ValueError, match=r"question 1: .*'came'"):
    preprocessor(x, y)
