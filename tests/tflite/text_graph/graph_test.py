"""The graph of strings in, byte spans out, beside the model's own answers."""

import dataclasses
import random

import pytest
import tensorflow as tf
from tiny_extractor import CONTEXT, QUESTION, VOCABULARY, tiny_extractor

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.squad.example import SquadExample
from bert_span.tflite.text_graph.graph import TextGraph

_PASSAGES = [
  CONTEXT,
  # Many windows, and no two of the same words, whose logits would be equal.
  "É 🙂 " + " ".join(random.Random(0).choices(VOCABULARY[5:], k=90)),
  "Cafe\u0301 日 was built by ANNA.",
  "",
  " \n\t ",
]


def _answer_of(extractor, options, dynamic_length):
  graph = TextGraph(
    InferenceModel(extractor.model),
    extractor.preprocessor,
    options,
    dynamic_length,
  )
  spec = tf.TensorSpec([1], tf.string)
  traced = tf.function(graph.__call__, input_signature=[spec, spec])
  return lambda *texts: {
    name: values.numpy()[0]
    for name, values in traced(*(tf.constant([t]) for t in texts)).items()
  }


@pytest.mark.large
@pytest.mark.parametrize(
  ("version_2", "span_score", "temperature", "dynamic_length"),
  [
    (True, "logit_sum", None, False),
    (False, "logit_sum", None, True),
    (True, "logit_sum", 1.7, True),
    (True, "mean_probability", None, True),
  ],
)
def test_answers_are_those_of_the_model(
  version_2, span_score, temperature, dynamic_length
):
  extractor = tiny_extractor(version_2)
  options = dataclasses.replace(
    extractor.decoder_options,
    span_score=span_score,
    temperature=temperature,
    n_best_size=5,
  )
  extractor = type(extractor)(
    *(extractor.model, VOCABULARY, True, extractor.window_options, options)
  )
  answer = _answer_of(extractor, options, dynamic_length)
  examples = [
    SquadExample(str(i), QUESTION, passage)
    for i, passage in enumerate(_PASSAGES)
  ]
  for example, wanted in zip(
    examples, extractor.predict(examples), strict=True
  ):
    given = answer(example.question, example.context)
    encoded = example.context.encode("utf-8")
    text = encoded[given["byte_start"] : given["byte_end"]].decode("utf-8")
    assert text == wanted.text
    before = encoded[: given["byte_start"]].decode("utf-8")
    assert len(before) == wanted.char_start
    assert given["is_answerable"] == bool(wanted.text)
    for name in ("score", "probability", "null_odds"):
      assert given[name] == pytest.approx(getattr(wanted, name), abs=1e-4)
    assert given["n_best_count"] == len(wanted.n_best)
    for i, entry in enumerate(wanted.n_best):
      place = slice(given["n_best_byte_start"][i], given["n_best_byte_end"][i])
      assert encoded[place].decode("utf-8") == entry.text
      for name in ("score", "probability", "start_logit", "end_logit"):
        assert given[f"n_best_{name}"][i] == pytest.approx(
          getattr(entry, name), abs=1e-4
        )


@pytest.mark.large
def test_a_question_without_a_wordpiece_gets_no_answer():
  extractor = tiny_extractor()
  answer = _answer_of(extractor, extractor.decoder_options, False)
  for question in ("", " ", "\u200b"):
    given = answer(question, CONTEXT)
    assert (given["byte_start"], given["byte_end"]) == (0, 0)
    assert not given["is_answerable"]
    assert given["null_odds"] == NO_SPAN_NULL_ODDS
    assert given["probability"] == 1.0
