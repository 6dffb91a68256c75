"""The served graph of a B/I/O head gives the spans of SpanExtractor."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from server_requests import ask, serialized_example
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span import BioDecoderOptions, SpanExtractor, SquadExample
from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.options import StepOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.serving.signatures import ServedModel

pytestmark = pytest.mark.large
_BEST = ("char_start", "char_end", "score", "probability")


@functools.cache
def _extractor_and_server():
  extractor = tiny_extractor(version_2=True, head=BIO_HEAD)
  return extractor, ServedModel(extractor, StepOptions(2))


def _check_equal(columns, predictions, contexts):
  """The served columns against `BioPrediction`s, every span with its place."""
  assert len(columns["answer"]) == len(predictions)
  for i, (prediction, context) in enumerate(
    zip(predictions, contexts, strict=True)
  ):
    assert columns["answer"][i].decode() == prediction.text
    assert columns["is_answerable"][i] == bool(prediction.spans)
    for name in (*_BEST, "null_odds"):
      expected = getattr(prediction, name)
      assert columns[name][i] == pytest.approx(expected, abs=1e-4)
    count = columns["span_count"][i]
    assert count == len(prediction.spans)
    for j, span in enumerate(prediction.spans):
      assert columns["span_text"][i, j].decode() == span.text
      for name in _BEST:
        expected = getattr(span, name)
        assert columns[f"span_{name}"][i, j] == pytest.approx(
          expected, abs=1e-4
        )
      start = columns["span_byte_start"][i, j]
      end = columns["span_byte_end"][i, j]
      assert context.encode()[start:end] == span.text.encode()
    start, end = columns["byte_start"][i], columns["byte_end"][i]
    assert context.encode()[start:end] == prediction.text.encode()
    for name in _list_names(columns):
      assert not any(columns[name][i, count:].tolist())


def _list_names(columns):
  return [n for n in columns if n.startswith("span_") and n != "span_count"]


def _examples(questions, contexts):
  return [
    SquadExample(str(i), *pair)
    for i, pair in enumerate(zip(questions, contexts, strict=True))
  ]


def test_mixed_lengths_get_the_spans_of_the_extractor():
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
  predictions = list(extractor.predict(_examples(questions, contexts)))
  counts = [len(prediction.spans) for prediction in predictions]
  assert max(counts) > 2
  assert min(counts) == 0
  columns = ask(server, questions, contexts)
  _check_equal(columns, predictions, contexts)
  assert columns["span_score"].shape == (7, max(counts))
  spans = extractor.answers(questions, contexts)
  texts = [[t.decode() for t in row if t] for row in columns["span_text"]]
  assert texts == [[span.text for span in row] for row in spans]


def test_nothing_asked_or_nothing_to_read_is_no_answer_with_score_0():
  _, server = _extractor_and_server()
  questions = ["", "  \u200b", QUESTION, QUESTION, "\x00"]
  contexts = [CONTEXT, CONTEXT, "", "\u3000\n", ""]
  columns = ask(server, questions, contexts)
  assert columns["answer"].tolist() == [b""] * 5
  assert columns["span_count"].tolist() == [0] * 5
  assert columns["is_answerable"].tolist() == [False] * 5
  for name in ("score", "char_start", "char_end", "byte_start", "byte_end"):
    assert columns[name].tolist() == [0] * 5
  assert columns["probability"].tolist() == [1.0] * 5
  assert columns["null_odds"].tolist() == [NO_SPAN_NULL_ODDS] * 5
  for name in _list_names(columns):
    assert columns[name].shape == (5, 1)
    assert not any(columns[name].ravel().tolist())


def test_what_shares_the_batch_changes_no_answer():
  _, server = _extractor_and_server()
  alone = ask(server, [QUESTION], [CONTEXT])
  among = ask(server, ["", QUESTION, "Who?"], [CONTEXT, CONTEXT, CONTEXT * 9])
  for name, values in alone.items():
    row = among[name][1:2]
    if name in _list_names(alone):
      row = row[:, : values.shape[1]]
    if values.dtype.kind == "f":
      np.testing.assert_allclose(row, values, atol=1e-5)
    else:
      assert row.tolist() == values.tolist()


def test_a_batch_of_zero_has_columns_of_zero_rows():
  _, server = _extractor_and_server()
  columns = ask(server, [], [])
  lists = _list_names(columns)
  for name, values in columns.items():
    assert values.shape == ((0, 1) if name in lists else (0,))


def test_bytes_that_are_no_utf8_count_as_one_character_each():
  _, server = _extractor_and_server()
  context = b"\xff\xc3 the mill\xed was built by Anna\xf0\x9f in 1895."
  columns = ask(server, [QUESTION.encode() + b"\xfe"], [context])
  text = context.decode("utf-8", errors="replace")
  assert columns["span_count"][0] > 1
  for i in range(columns["span_count"][0]):
    span = {n: columns[n][0, i] for n in _list_names(columns)}
    answer = span["span_text"].decode()
    assert answer == text[span["span_char_start"] : span["span_char_end"]]
    in_bytes = context[span["span_byte_start"] : span["span_byte_end"]]
    assert in_bytes.decode("utf-8", errors="replace") == answer


def test_as_many_questions_as_passages_or_a_clear_error():
  _, server = _extractor_and_server()
  with pytest.raises(
    tf.errors.InvalidArgumentError, match="must have the same batch size"
  ):
    ask(server, [QUESTION, QUESTION], [CONTEXT])


def test_examples_answer_as_serving_default_and_classes_are_the_spans():
  _, server = _extractor_and_server()
  pairs = [(QUESTION, CONTEXT), ("", CONTEXT), ("Who?", "É " + CONTEXT)]
  serialized = tf.constant([serialized_example(*pair) for pair in pairs])
  expected = ask(server, *zip(*pairs, strict=True))
  columns = server.functions["examples"](serialized)
  assert set(columns) == set(expected)
  for name, values in columns.items():
    assert values.numpy().tolist() == expected[name].tolist()
  found = server.functions["classify"](serialized)
  assert set(found) == {"classes", "scores"}
  assert (found["classes"].numpy() == expected["span_text"]).all()
  scores = found["scores"].numpy()
  probabilities = expected["span_probability"]
  assert scores[[0, 2]].tolist() == probabilities[[0, 2]].tolist()
  assert scores[1].tolist() == [1.0] + [0.0] * (scores.shape[1] - 1)
  assert scores.dtype == np.float32


def test_logits_are_those_of_three_tags():
  extractor, server = _extractor_and_server()
  ids = tf.constant([[2, 15, 12, 3, 5, 6, 7, 3], [2, 16, 12, 3, 5, 3, 0, 0]])
  mask, segments = tf.cast(ids > 0, tf.int32), tf.zeros_like(ids)
  logits = server.functions["logits"](
    input_ids=ids, input_mask=mask, segment_ids=segments
  )
  expected = extractor.model(
    {"token_ids": ids, "padding_mask": mask, "segment_ids": segments}
  )
  assert set(logits) == {"tag_logits"}
  assert logits["tag_logits"].shape == (2, 8, 3)
  np.testing.assert_allclose(
    logits["tag_logits"], expected["tag_logits"], atol=1e-5
  )


@pytest.mark.parametrize(
  "options",
  [
    BioDecoderOptions("greedy"),
    BioDecoderOptions(threshold=0.9),
    BioDecoderOptions(
      version_2_with_negative=True, null_score_diff_threshold=-1e9
    ),
  ],
)
def test_decoding_is_fixed_by_the_options(options):
  tiny, _ = _extractor_and_server()
  extractor = SpanExtractor(
    tiny.model,
    tiny.preprocessor.tokenizer.vocabulary,
    window_options=tiny.window_options,
    decoder_options=options,
    fixed_length=options.decoding == "greedy",
  )
  questions, contexts = [QUESTION, "When?"], [CONTEXT, CONTEXT * 3]
  columns = ask(ServedModel(extractor), questions, contexts)
  predictions = list(extractor.predict(_examples(questions, contexts)))
  _check_equal(columns, predictions, contexts)
  if options.threshold:
    assert (
      0 < len(predictions[1].spans) < len(tiny.answers("When?", contexts[1]))
    )
  if options.version_2_with_negative:
    assert not columns["is_answerable"].any()
    assert (columns["null_odds"] < NO_SPAN_NULL_ODDS).all()
