"""The served graph answers as SpanExtractor does, with either head."""

import random

import numpy as np
import pytest
import tensorflow as tf
from exported_model import ask, served_model
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text_example import text_example
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span import BioDecoderOptions, SpanExtractor, SquadExample
from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.options import StepOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.serving.client.served_answer import (
  answer_of_row,
  rows_of_columns,
)
from bert_span.serving.signatures import ServedModel, byte_offsets
from bert_span.squad.reader import read_squad
from bert_span.text.options import WindowOptions
from bert_span.text.vocabulary import load_vocabulary

_PLACES = ("char_start", "char_end", "byte_start", "byte_end")
pytestmark = pytest.mark.large


@pytest.fixture(params=[SPAN_HEAD, BIO_HEAD], ids=["span", "bio"])
def head(request):
  return request.param


@pytest.fixture(scope="module")
def real_examples(shared_data):
  """SQuAD, whole articles of COVID-QA and other scripts, mixed."""
  rng, examples = random.Random(0), []
  for name, share in (
    *(("squad1_dev_half", 16), ("squad2_part", 12), ("xquad_en", 4)),
    *(("xquad_ar", 3), ("xquad_zh", 3), ("covidqa_part", 2)),
  ):
    path = str(shared_data / f"{name}.json")
    examples += rng.sample(read_squad(path).examples, share)
  rng.shuffle(examples)
  assert any(len(example.context) > 20_000 for example in examples)
  return examples


def _lists(columns):
  """The prefix of the columns that are lists, and their names."""
  prefix = "span_" if "span_count" in columns else "n_best_"
  names = [n for n in columns if n.startswith(prefix)]
  return prefix, [n for n in names if n != f"{prefix}count"]


def _check_equal(server, extractor, questions, contexts):
  """Served columns against predictions, lists included; returns both."""
  columns = ask(server, questions, contexts)
  examples = list(map(SquadExample, questions, questions, contexts))
  predictions = list(extractor.predict(examples))
  values = {name: array.tolist() for name, array in columns.items()}
  for row, prediction, context in zip(
    rows_of_columns(values), predictions, contexts, strict=True
  ):
    expected = extractor.head.expected_row(prediction)
    for name, value in expected.items():
      given = row[name][: len(value)] if isinstance(value, list) else row[name]
      if name.endswith(("score", "probability", "null_odds")):
        value = pytest.approx(value, rel=1e-4, abs=1e-4)
      assert given == value, name
    answer = answer_of_row(row, context)  # texts are at their characters
    for span in (answer, *answer.n_best):
      in_bytes = context.encode()[span.byte_start : span.byte_end]
      assert in_bytes.decode() == span.text
      assert span.is_answerable == bool(span.text)
    for name in _lists(columns)[1]:
      assert not any(row[name][len(answer.n_best) :])  # padding
  return columns, predictions


def test_mixed_lengths_are_answered_as_by_the_extractor(head):
  server, extractor = served_model(head)
  pairs = [
    *((QUESTION, CONTEXT), ("Who?", "É " + CONTEXT * 12), (QUESTION, " \n ")),
    *((QUESTION, ""), ("who " * 30, CONTEXT * 3), ("mill", "mill")),
    ("When was the café built?", "🙂 the café was built near the river."),
  ]
  texts = zip(*pairs, strict=True)
  columns, predictions = _check_equal(server, extractor, *texts)
  if head == SPAN_HEAD:
    assert columns["n_best_score"].shape == (7, 21)
    return
  counts = [len(prediction.spans) for prediction in predictions]
  assert max(counts) > 2
  assert min(counts) == 0
  assert columns["span_score"].shape == (7, max(counts))


def test_nothing_asked_or_nothing_to_read_is_no_answer_with_score_0(head):
  server, _ = served_model(head)
  questions = ["", "  \u200b", QUESTION, QUESTION, "\x00", QUESTION]
  contexts = [CONTEXT, CONTEXT, "", "\u3000\n", "", CONTEXT]
  columns = ask(server, questions, contexts)
  assert columns["is_answerable"].tolist() == [False] * 5 + [True]
  for name, value in (
    *(("answer", b""), ("probability", 1.0), ("null_odds", NO_SPAN_NULL_ODDS)),
    *((name, 0) for name in ("score", *_PLACES)),
  ):
    assert columns[name][:5].tolist() == [value] * 5
  prefix, _ = _lists(columns)
  none = 1 if head == SPAN_HEAD else 0  # "no answer" is an n-best entry
  assert columns[f"{prefix}count"][:5].tolist() == [none] * 5


def test_the_batch_changes_no_answer(head):
  server, _ = served_model(head)
  alone = ask(server, [QUESTION], [CONTEXT])
  among = ask(server, ["", QUESTION, "Who?"], [CONTEXT, CONTEXT, CONTEXT * 9])
  _, lists = _lists(alone)
  for name, values in alone.items():
    row = among[name][1:2]
    if name in lists:
      row = row[:, : values.shape[1]]
    if values.dtype.kind == "f":
      np.testing.assert_allclose(row, values, atol=1e-5)
    else:
      assert row.tolist() == values.tolist()


def test_a_batch_of_zero_has_columns_of_zero_rows(head):
  columns = ask(served_model(head)[0], [], [])
  _, lists = _lists(columns)
  width = 21 if head == SPAN_HEAD else 1
  for name, values in columns.items():
    assert values.shape == ((0, width) if name in lists else (0,))


def test_bytes_that_are_no_utf8_count_as_one_character_each(head):
  server, _ = served_model(head)
  context = b"\xff\xc3 the mill\xed was built by Anna\xf0\x9f in 1895."
  columns = ask(server, [QUESTION.encode() + b"\xfe"], [context])
  text = context.decode("utf-8", errors="replace")
  start, end, byte_start, byte_end = (columns[name][0] for name in _PLACES)
  assert end > start
  answer = columns["answer"][0].decode()
  assert answer == text[start:end]
  assert context[byte_start:byte_end].decode(errors="replace") == answer


def test_examples_and_classify_answer_as_serving_default(head):
  server, _ = served_model(head)
  pairs = [(QUESTION, CONTEXT), ("", CONTEXT), ("Who?", "É " + CONTEXT)]
  serialized = tf.constant(
    [text_example({"question": q, "context": c}) for q, c in pairs]
  )
  expected = ask(server, *zip(*pairs, strict=True))
  columns = server.functions["examples"](serialized)
  assert set(columns) == set(expected)
  for name, values in columns.items():
    assert values.numpy().tolist() == expected[name].tolist()
  found = server.functions["classify"](serialized)
  assert set(found) == {"classes", "scores"}
  classes, scores = found["classes"].numpy(), found["scores"].numpy()
  assert scores.dtype == np.float32
  if head == SPAN_HEAD:
    assert (classes == expected["n_best_answer"]).all()
    assert (scores == expected["n_best_probability"]).all()
    return
  assert (classes == expected["span_text"]).all()
  probabilities = expected["span_probability"]
  assert scores[[0, 2]].tolist() == probabilities[[0, 2]].tolist()
  assert scores[1].tolist() == [1.0] + [0.0] * (scores.shape[1] - 1)


def test_logits_are_the_models(head):
  server, extractor = served_model(head)
  ids = tf.constant([[2, 15, 12, 3, 5, 6, 7, 3], [2, 16, 12, 3, 5, 3, 0, 0]])
  mask, segments = tf.cast(ids > 0, tf.int32), tf.zeros_like(ids)
  logits = server.functions["logits"](
    input_ids=ids, input_mask=mask, segment_ids=segments
  )
  expected = extractor.model(
    {"token_ids": ids, "padding_mask": mask, "segment_ids": segments}
  )
  assert set(logits) == set(head.logits)
  for name, values in logits.items():
    np.testing.assert_allclose(values, expected[name], atol=1e-5)


def test_a_compiled_graph_gives_the_extractors_answers():
  extractor = served_model(SPAN_HEAD)[1]
  server = ServedModel(extractor, StepOptions(4, jit_compile=True))
  _check_equal(server, extractor, [QUESTION] * 2, [CONTEXT * 3, CONTEXT])


def test_real_questions_are_answered_alike(
  real_examples, uncased_vocab_file, head
):
  extractor = tiny_extractor(
    version_2=True,
    window_options=WindowOptions(),
    head=head,
    vocabulary=load_vocabulary(uncased_vocab_file),
  )
  server = ServedModel(extractor)
  texts, first = set(), 0
  for size in (1, 8, 3, 28):
    batch = real_examples[first : first + size]
    questions = [example.question for example in batch]
    contexts = [example.context for example in batch]
    columns, _ = _check_equal(server, extractor, questions, contexts)
    texts.update(columns.get("span_text", columns["answer"]).ravel())
    first += size
  assert first == len(real_examples)
  assert len(texts) > 0.75 * first


@pytest.mark.parametrize(
  "options",
  [
    BioDecoderOptions("greedy", threshold=0.9),
    BioDecoderOptions(
      version_2_with_negative=True, null_score_diff_threshold=-1e9
    ),
  ],
)
def test_decoding_is_fixed_by_the_options(options):
  _, tiny = served_model(BIO_HEAD)
  extractor = SpanExtractor(
    tiny.model,
    tiny.preprocessor.tokenizer.vocabulary,
    window_options=tiny.window_options,
    decoder_options=options,
    fixed_length=options.decoding == "greedy",
  )
  contexts = [CONTEXT, CONTEXT * 3]
  columns, (_, second) = _check_equal(
    ServedModel(extractor), extractor, [QUESTION, "When?"], contexts
  )
  if options.threshold:
    assert 0 < len(second.spans) < len(tiny.answers("When?", contexts[1]))
  if options.version_2_with_negative:
    assert not columns["is_answerable"].any()
    assert (columns["null_odds"] < NO_SPAN_NULL_ODDS).all()


def test_questions_that_would_all_be_empty_are_refused():
  extractor = tiny_extractor(window_options=WindowOptions(32, 8, 0))
  with pytest.raises(ValueError, match="max_query_length"):
    ServedModel(extractor)


def _offsets(texts, char_offsets):
  return byte_offsets(
    tf.constant(texts, tf.string, [len(texts)]),
    [tf.constant(char_offsets, tf.int32)],
  )[0].numpy()


def test_rows_of_a_batch_do_not_mix():
  texts = [text.encode() for text in ("日本", "", "a🙂b")]
  offsets = _offsets(texts, [[1, 2], [0, 0], [2, 3]])
  assert offsets.tolist() == [[3, 6], [0, 0], [5, 6]]
  assert _offsets(texts, [2, 0, 2]).tolist() == [6, 0, 5]
  assert _offsets([], np.zeros([0, 4])).shape == (0, 4)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=12))
@example(b"h\xc3\xa9l\xffo")
@example(b"\xed\xa0\x80x")  # a surrogate
@example(b"\xe6\x97z\xf0\x9f\x99")  # cut characters
@example(b"\xc0\x80\xfe\xf8\x88\x80\x80\x80")
@example("\ufeff\x00é".encode())
def test_characters_are_counted_as_python_decodes_bytes(text):
  decoded = text.decode("utf-8", errors="replace")
  (ends,) = _offsets([text], [list(range(len(decoded) + 1))])
  assert ends[0] == 0
  assert ends[-1] == len(text)
  for i, character in enumerate(decoded):
    piece = text[ends[i] : ends[i + 1]]
    assert piece.decode("utf-8", errors="replace") == character
