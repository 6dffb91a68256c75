"""The served graph answers as SpanExtractor does, with either head."""

import os
import random

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bert_span import BioDecoderOptions, BioPreprocessor, SpanExtractor
from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.options import StepOptions
from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.presets.vocabulary_files import load_vocabulary
from bert_span.serving.fresh_process import meta_graph
from bert_span.serving.signatures import ServedModel, byte_offsets
from bert_span.squad.example import SquadExample
from bert_span.squad.reader import read_squad
from bert_span.text.options import WindowOptions
from tests.support.models import (
  CONTEXT,
  QUESTION,
  VOCABULARY,
  ask,
  check_columns,
  exported_model,
  served_model,
  tiny_extractor,
)

_PLACES = ("char_start", "char_end", "byte_start", "byte_end")
pytestmark = pytest.mark.large


@pytest.fixture(params=[SpanExtractor, BioExtractor], ids=["span", "bio"])
def kind(request):
  return request.param


def _check_equal(server, extractor, questions, contexts):
  columns = ask(server, questions, contexts)
  return columns, check_columns(columns, extractor, questions, contexts)


def test_mixed_lengths_are_answered_as_by_the_extractor(kind):
  server, extractor = served_model(kind)
  pairs = [
    *((QUESTION, CONTEXT), ("Who?", "É " + CONTEXT * 12), (QUESTION, " \n ")),
    *((QUESTION, ""), ("who " * 30, CONTEXT * 3), ("mill", "mill")),
    ("When was the café built?", "🙂 the café was built near the river."),
  ]
  texts = zip(*pairs, strict=True)
  columns, predictions = _check_equal(server, extractor, *texts)
  if kind == SpanExtractor:
    assert columns["n_best_score"].shape == (7, 21)
    return
  counts = [len(prediction.spans) for prediction in predictions]
  assert max(counts) > 2
  assert min(counts) == 0
  assert columns["span_score"].shape == (7, max(counts))


def test_nothing_to_read_is_no_answer_with_score_0(kind):
  server, extractor = served_model(kind)
  questions, contexts = [QUESTION, QUESTION, "\x00"], ["", "\u3000\n", ""]
  columns, _ = _check_equal(server, extractor, questions, contexts)
  for name, value in (
    *(("answer", b""), ("probability", 1.0), ("null_odds", NO_SPAN_NULL_ODDS)),
    *((name, 0) for name in ("score", "is_answerable", *_PLACES)),
  ):
    assert columns[name].tolist() == [value] * 3
  # "no answer" is an n-best entry.
  count, none = (
    ("n_best_count", 1) if kind == SpanExtractor else ("span_count", 0)
  )
  assert columns[count].tolist() == [none] * 3


def test_nothing_asked_is_answered_from_the_passage_alone(kind):
  """As by run_squad and every other runner."""
  server, extractor = served_model(kind)
  questions = ["", "  \u200b", "\x00", "", QUESTION]
  contexts = [CONTEXT, CONTEXT, CONTEXT, CONTEXT * 5, CONTEXT]
  columns, _ = _check_equal(server, extractor, questions, contexts)
  assert columns["answer"][0] == columns["answer"][1] == columns["answer"][2]
  assert (columns["null_odds"] < NO_SPAN_NULL_ODDS).all()


def test_a_question_that_is_cut_is_marked_and_an_empty_passage_reads_none(kind):
  server, extractor = served_model(kind)
  questions = ["who " * 8, "who " * 9, "who " * 9]
  contexts = [CONTEXT, CONTEXT * 3, " "]
  columns, predictions = _check_equal(server, extractor, questions, contexts)
  answers = extractor.answer(questions, contexts)
  assert columns["question_truncated"].tolist() == [False, True, False]
  for found in ([p.answer for p in predictions], answers):
    is_cut = [each.question_truncated for each in found]
    assert is_cut == [False, True, False]
  (windows,) = extractor.window_logits(
    list(map(SquadExample, "abc", questions, contexts))
  )
  decoded = [p.answer.question_truncated for p in extractor.decode(windows)]
  assert decoded == [False, True, False]


@pytest.mark.parametrize(
  ("signature", "inputs", "message"),
  [
    (
      *("serving_default", {"question": [["q"]], "context": [["c"]]}),
      r"question .*\[batch\].*1 1",
    ),
    ("serving_default", {"question": "q", "context": "c"}, r"question .*\[\]"),
    ("serving_default", {"question": ["q"], "context": [["c"]]}, "context .*"),
    (
      *("logits", dict.fromkeys(("input_ids", "input_mask", "segment_ids"), 3)),
      r"input_ids .*\[batch, seq_length\].*\[\]",
    ),
  ],
)
def test_inputs_of_another_rank_are_named_with_their_shape(
  signature, inputs, message
):
  directory, _ = exported_model(SpanExtractor)
  model = tf.saved_model.load(directory)
  tensors = {name: tf.constant(values) for name, values in inputs.items()}
  with pytest.raises(tf.errors.InvalidArgumentError, match=message):
    model.signatures[signature](**tensors)


def test_a_batch_of_zero_has_columns_of_zero_rows(kind):
  columns = ask(served_model(kind)[0], [], [])
  assert {len(values) for values in columns.values()} == {0}


def test_bytes_that_are_no_utf8_count_as_one_character_each(kind):
  server, _ = served_model(kind)
  context = b"\xff\xc3 the mill\xed was built by Anna\xf0\x9f in 1895."
  columns = ask(server, [QUESTION.encode() + b"\xfe"], [context])
  text = context.decode("utf-8", errors="replace")
  start, end, byte_start, byte_end = (columns[name][0] for name in _PLACES)
  assert end > start
  answer = columns["answer"][0].decode()
  assert answer == text[start:end]
  assert context[byte_start:byte_end].decode(errors="replace") == answer


def test_logits_are_the_models(kind):
  server, extractor = served_model(kind)
  ids = [[2, 15, 12, 3, 5, 6, 7, 3], [2, 16, 12, 3, 5, 3, 0, 0]]
  ids, zeros = np.array(ids, np.int32), np.zeros([2, 8], np.int32)
  mask = np.sign(ids)
  logits = server.functions["logits"](ids, mask, zeros)
  expected = extractor(
    {"token_ids": ids, "padding_mask": mask, "segment_ids": zeros}
  )
  assert set(logits) == set(extractor.logits)
  for name, values in logits.items():
    np.testing.assert_allclose(values, expected[name], atol=1e-5)


def test_the_vocabulary_is_an_asset_and_no_keras_object_is_in_it(kind):
  directory, extractor = exported_model(kind)
  with open(os.path.join(directory, "assets", "vocab.txt"), "rb") as file:
    assert file.read().decode().split("\n") == [*VOCABULARY, ""]
  nodes = meta_graph(directory).object_graph_def.nodes
  objects = {node.user_object.identifier for node in nodes}
  assert not [name for name in objects if "keras" in name]
  variables = [node for node in nodes if node.WhichOneof("kind") == "variable"]
  pooler = extractor.backbone.pooled_dense  # No logit needs it.
  assert len(variables) == len(extractor.weights) - len(pooler.weights)


def test_a_session_answers_as_the_extractor(kind):
  """The way TensorFlow Serving goes: meta graph, session, tensor names."""
  directory, extractor = exported_model(kind)
  questions, contexts = [QUESTION, "Who?"], [CONTEXT * 4, ""]
  with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    loaded = tf.compat.v1.saved_model.load(session, ["serve"], directory)
    signature = loaded.signature_def["serving_default"]
    fetches = {name: info.name for name, info in signature.outputs.items()}
    question, context = (
      signature.inputs[name].name for name in ("question", "context")
    )
    outputs = session.run(fetches, {question: questions, context: contexts})
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch"):
      session.run(fetches, {question: questions, context: contexts[:1]})
  found, none = check_columns(outputs, extractor, questions, contexts, 1e-6)
  assert none.answer.text == ""
  assert kind == SpanExtractor or len(found.spans) > 1


def test_a_compiled_graph_gives_the_extractors_answers():
  extractor = served_model(SpanExtractor)[1]
  server = ServedModel(extractor, StepOptions(4, jit_compile=True))
  _check_equal(server, extractor, [QUESTION] * 2, [CONTEXT * 3, CONTEXT])


def test_real_questions_are_answered_alike(
  shared_data, uncased_vocab_file, kind
):
  """SQuAD, whole articles of COVID-QA and other scripts, mixed."""
  rng, examples = random.Random(0), []
  for name, share in (
    *(("squad1_dev_half", 5), ("squad2_part", 4), ("xquad_en", 2)),
    *(("xquad_ar", 2), ("xquad_zh", 2), ("covidqa_part", 1)),
  ):
    path = str(shared_data / f"{name}.json")
    examples += rng.sample(read_squad(path).examples, share)
  rng.shuffle(examples)
  assert any(len(example.context) > 20_000 for example in examples)
  extractor = tiny_extractor(
    version_2=True,
    window_options=WindowOptions(),
    kind=kind,
    vocabulary=load_vocabulary(uncased_vocab_file),
  )
  server, texts = ServedModel(extractor), set()
  for batch in (examples[:1], examples[1:9], examples[9:12], examples[12:]):
    questions = [example.question for example in batch]
    contexts = [example.context for example in batch]
    columns, _ = _check_equal(server, extractor, questions, contexts)
    texts.update(columns.get("span_text", columns["answer"]).ravel())
  assert len(texts) > 0.75 * len(examples)


def test_no_answer_wins_above_the_threshold_of_the_options():
  tiny = served_model(BioExtractor)[1]
  options = tiny.preprocessor.options
  extractor = BioExtractor(
    tiny.backbone,
    BioPreprocessor(VOCABULARY, options=options, pad_to_max=True),
    BioDecoderOptions(
      version_2_with_negative=True, null_score_diff_threshold=-1e9
    ),
    tiny.head,
  )
  columns, _ = _check_equal(
    ServedModel(extractor), extractor, [QUESTION], [CONTEXT * 3]
  )
  assert not columns["is_answerable"].any()
  assert (columns["null_odds"] < NO_SPAN_NULL_ODDS).all()


def test_questions_that_would_all_be_empty_are_refused():
  extractor = tiny_extractor(window_options=WindowOptions(32, 8, 0))
  with pytest.raises(ValueError, match="max_query_length"):
    ServedModel(extractor)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=12))
@example(b"h\xc3\xa9l\xffo")
@example(b"\xed\xa0\x80x")  # a surrogate
@example(b"\xe6\x97z\xf0\x9f\x99")  # cut characters
@example(b"\xc0\x80\xfe\xf8\x88\x80\x80\x80")
@example("\ufeff\x00é".encode())
def test_characters_are_counted_as_python_decodes_bytes(text):
  decoded = text.decode("utf-8", errors="replace")
  positions = tf.constant([list(range(len(decoded) + 1))], tf.int32)
  ((ends,),) = byte_offsets(tf.constant([text]), [positions])
  ends = ends.numpy()
  assert ends[0] == 0
  assert ends[-1] == len(text)
  for i, character in enumerate(decoded):
    piece = text[ends[i] : ends[i + 1]]
    assert piece.decode("utf-8", errors="replace") == character
