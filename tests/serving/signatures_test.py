"""The served graph answers as SpanExtractor does."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from server_requests import ask, serialized_example
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.options import StepOptions
from bert_span.serving.signatures import ServedModel
from bert_span.squad.example import SquadExample
from bert_span.text.options import WindowOptions


@functools.cache
def _extractor_and_server():
  extractor = tiny_extractor(version_2=True)
  return extractor, ServedModel(extractor, StepOptions(2))


def _check_equal(columns, predictions, contexts):
  """The served columns against `Prediction`s, n-best lists included."""
  for i, (prediction, context) in enumerate(
    zip(predictions, contexts, strict=True)
  ):
    assert columns["answer"][i].decode() == prediction.text
    assert columns["char_start"][i] == prediction.char_start
    assert columns["char_end"][i] == prediction.char_end
    assert columns["is_answerable"][i] == bool(prediction.text)
    in_bytes = context.encode()
    start, end = columns["byte_start"][i], columns["byte_end"][i]
    assert in_bytes[start:end] == prediction.text.encode()
    for name in ("score", "probability", "null_odds"):
      expected = getattr(prediction, name)
      assert columns[name][i] == pytest.approx(expected, abs=1e-4)
    count = columns["n_best_count"][i]
    assert count == len(prediction.n_best)
    for name in ("score", "probability"):
      expected = [getattr(entry, name) for entry in prediction.n_best]
      np.testing.assert_allclose(
        columns[f"n_best_{name}"][i, :count], expected, atol=1e-4
      )
    for j in range(count):
      text = columns["n_best_answer"][i, j].decode()
      start = columns["n_best_char_start"][i, j]
      end = columns["n_best_char_end"][i, j]
      assert text == context[start:end]
      assert columns["n_best_is_answerable"][i, j] == bool(text)
      start = columns["n_best_byte_start"][i, j]
      end = columns["n_best_byte_end"][i, j]
      assert text.encode() == in_bytes[start:end]
    for name, values in columns.items():
      if name.startswith("n_best_") and name != "n_best_count":
        padding = values[i, count:].tolist()
        assert not any(padding)


@pytest.mark.large
def test_mixed_lengths_are_answered_as_by_the_extractor():
  extractor, server = _extractor_and_server()
  contexts = [
    CONTEXT,
    "É " + CONTEXT * 12,
    " \n ",
    "🙂 the café was built near the river.",
    "",
    CONTEXT * 3,
    "mill",
  ]
  questions = [QUESTION, "Who?", QUESTION, "When was the café built?"]
  questions += [QUESTION, "who " * 30, "mill"]
  examples = [
    SquadExample(str(i), *pair)
    for i, pair in enumerate(zip(questions, contexts, strict=True))
  ]
  columns = ask(server, questions, contexts)
  _check_equal(columns, list(extractor.predict(examples)), contexts)
  assert columns["n_best_score"].shape == (7, 21)


@pytest.mark.large
def test_nothing_asked_or_nothing_to_read_is_no_answer_with_score_0():
  _, server = _extractor_and_server()
  questions = ["", "  \u200b", QUESTION, QUESTION, "\x00", QUESTION]
  contexts = [CONTEXT, CONTEXT, "", "\u3000\n", "", CONTEXT]
  columns = ask(server, questions, contexts)
  assert columns["answer"][:5].tolist() == [b""] * 5
  assert columns["is_answerable"].tolist() == [False] * 5 + [True]
  for name in ("score", "char_start", "char_end", "byte_start", "byte_end"):
    assert columns[name][:5].tolist() == [0] * 5
  assert columns["probability"][:5].tolist() == [1.0] * 5
  assert columns["null_odds"][:5].tolist() == [NO_SPAN_NULL_ODDS] * 5
  assert columns["n_best_count"][:5].tolist() == [1] * 5
  alone = ask(server, [QUESTION], [CONTEXT])
  assert columns["answer"][5] == alone["answer"][0]


@pytest.mark.large
def test_a_batch_of_zero_has_columns_of_zero_rows():
  _, server = _extractor_and_server()
  columns = ask(server, [], [])
  for name, values in columns.items():
    is_list = name.startswith("n_best_") and name != "n_best_count"
    assert values.shape == ((0, 21) if is_list else (0,))


@pytest.mark.large
def test_bytes_that_are_no_utf8_count_as_one_character_each():
  _, server = _extractor_and_server()
  context = b"\xff\xc3 the mill\xed was built by Anna\xf0\x9f in 1895."
  columns = ask(server, [QUESTION.encode() + b"\xfe"], [context])
  text = context.decode("utf-8", errors="replace")
  (start,), (end,) = columns["char_start"], columns["char_end"]
  assert end > start
  answer = columns["answer"][0].decode()
  assert answer == text[start:end]
  (start,), (end,) = columns["byte_start"], columns["byte_end"]
  assert context[start:end].decode("utf-8", errors="replace") == answer


@pytest.mark.large
def test_as_many_questions_as_passages_or_a_clear_error():
  _, server = _extractor_and_server()
  with pytest.raises(
    tf.errors.InvalidArgumentError, match="must have the same batch size"
  ):
    ask(server, [QUESTION, QUESTION], [CONTEXT])


@pytest.mark.large
def test_examples_and_classify_answer_as_serving_default():
  _, server = _extractor_and_server()
  pairs = [(QUESTION, CONTEXT), ("", CONTEXT), ("Who?", "É " + CONTEXT)]
  serialized = [serialized_example(*pair) for pair in pairs]
  expected = ask(server, *zip(*pairs, strict=True))
  columns = server.functions["examples"](tf.constant(serialized))
  assert set(columns) == set(expected)
  for name, values in columns.items():
    assert values.numpy().tolist() == expected[name].tolist()
  classes = server.functions["classify"](tf.constant(serialized))
  assert set(classes) == {"classes", "scores"}
  assert (classes["classes"].numpy() == expected["n_best_answer"]).all()
  assert (classes["scores"].numpy() == expected["n_best_probability"]).all()
  assert classes["scores"].dtype == tf.float32


@pytest.mark.large
def test_logits_have_the_classic_names():
  extractor, server = _extractor_and_server()
  ids = tf.constant([[2, 15, 12, 3, 5, 6, 7, 3], [2, 16, 12, 3, 5, 3, 0, 0]])
  mask, segments = tf.cast(ids > 0, tf.int32), tf.zeros_like(ids)
  logits = server.functions["logits"](
    input_ids=ids, input_mask=mask, segment_ids=segments
  )
  expected = extractor.model(
    {"token_ids": ids, "padding_mask": mask, "segment_ids": segments}
  )
  assert set(logits) == {"start_logits", "end_logits"}
  for name, values in logits.items():
    np.testing.assert_allclose(values, expected[name], atol=1e-5)


@pytest.mark.large
def test_fixed_length_serves_what_a_fixed_length_extractor_answers():
  extractor = tiny_extractor(version_2=True, fixed_length=True)
  server = ServedModel(extractor)
  example = SquadExample("0", "Who?", CONTEXT)
  columns = ask(server, ["Who?"], [CONTEXT])
  _check_equal(columns, list(extractor.predict([example])), [CONTEXT])


@pytest.mark.large
def test_compiled_encoder_gives_the_same_answers():
  extractor = tiny_extractor()
  server = ServedModel(extractor, StepOptions(4, jit_compile=True))
  questions, contexts = [QUESTION] * 2, [CONTEXT * 3, CONTEXT]
  examples = [SquadExample("0", QUESTION, text) for text in contexts]
  columns = ask(server, questions, contexts)
  _check_equal(columns, list(extractor.predict(examples)), contexts)


def test_questions_that_would_all_be_empty_are_refused():
  extractor = tiny_extractor(window_options=WindowOptions(32, 8, 0))
  with pytest.raises(ValueError, match="max_query_length must be at least 1"):
    ServedModel(extractor)
