"""A TFLite file of strings answers as the model does, whatever the passage."""

import json
import random

import numpy as np
import pytest
from exported_tflite import exported_tflite
from tensorflow.lite.python import schema_py_generated as schema
from tiny_extractor import CONTEXT, QUESTION, VOCABULARY, tiny_extractor

import bert_span
from bert_span.answers.decoding.options import DecoderOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.jobs import tflite_export
from bert_span.presets.span_config import CONFIG_FILE
from bert_span.squad.example import SquadExample
from bert_span.text.options import WindowOptions
from bert_span.tflite import file as tflite_file
from bert_span.tflite import tflite_verification
from bert_span.tflite.text_graph.byte_tokenizer import CUSTOM_OPS
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor
from bert_span.tflite.tflite_text_extractor import (
  TFLiteTextExtractor,
  open_tflite,
)

_PASSAGES = [
  CONTEXT,
  # Many windows, and no two of the same words, whose logits would be equal.
  "É 🙂 " + " ".join(random.Random(0).choices(VOCABULARY[5:], k=150)),
  "Cafe\u0301 日 was built by ANNA.",
  "mill",
  "",
  " \n\t ",
]


@pytest.fixture(scope="module")
def file_and_model():
  return exported_tflite(dynamic_length=True, with_tokenizer=True)


@pytest.mark.large
@pytest.mark.parametrize(
  ("dynamic_length", "temperature"), [(False, None), (True, None), (True, 1.7)]
)
def test_answers_are_those_of_the_model(dynamic_length, temperature):
  path, model = exported_tflite(
    dynamic_length=dynamic_length, with_tokenizer=True, temperature=temperature
  )
  extractor = open_tflite(path, num_threads=1)
  assert isinstance(extractor, TFLiteTextExtractor)
  assert extractor.decoder_options == model.decoder_options
  questions = [QUESTION] * len(_PASSAGES)
  expected = model.answer(questions, _PASSAGES, n_best=4)
  given = extractor.answer(questions, _PASSAGES, n_best=4)
  for wanted, answers, passage in zip(expected, given, _PASSAGES, strict=True):
    assert [a[:3] for a in answers] == [w[:3] for w in wanted]
    for answer, other in zip(answers, wanted, strict=True):
      assert answer.text == passage[answer.char_start : answer.char_end]
      assert answer.score == pytest.approx(other.score, abs=1e-4)
      assert answer.probability == pytest.approx(other.probability, abs=1e-4)
  assert [
    [a.text for a in spans] for spans in extractor.answers(questions, _PASSAGES)
  ] == [[a.text for a in s] for s in model.answers(questions, _PASSAGES)]


@pytest.mark.large
def test_the_file_has_no_ops_but_builtin_ones_and_three_of_text(file_and_model):
  path, _ = file_and_model
  with open(path, "rb") as file:
    ops = tflite_file.op_counts(tflite_file.parse(file.read()))
  custom = {name for name in ops if name.startswith("CUSTOM:")}
  assert custom == {f"CUSTOM:{name}" for name in CUSTOM_OPS}
  assert tflite_file.has_tokenizer(tflite_file.read_span_config(path))


@pytest.mark.large
def test_any_text_gives_places_within_the_passage(file_and_model):
  extractor = TFLiteTextExtractor(file_and_model[0])
  rng = random.Random(1)
  characters = "ab .,?é日🙂\u0301\u200b\0\n\ufeff가ß\ud800Σ" + "mill "
  for length in (0, 1, 2, 3, 5, 8, 13, 40, 100, 400, 1500):
    question = "".join(rng.choices(characters, k=rng.randint(0, 30)))
    context = "".join(rng.choices(characters, k=length))
    answer = extractor.answer(question, context)
    assert 0 <= answer.char_start <= answer.char_end <= len(context)
    assert answer.text == context[answer.char_start : answer.char_end]
    assert 0 <= answer.probability <= 1 + 1e-6


@pytest.mark.large
def test_a_damaged_or_an_unlike_file_is_refused(file_and_model, tmp_path):
  path, _ = file_and_model
  damaged = tmp_path / "damaged.tflite"
  with open(path, "rb") as file:
    content = bytearray(file.read())
  content[100:140] = bytes(40)
  damaged.write_bytes(content)
  with pytest.raises(ValueError, match=r"damaged\.tflite is damaged"):
    TFLiteTextExtractor(damaged)
  with pytest.raises(ValueError, match="open it with TFLiteTextExtractor"):
    TFLiteSpanExtractor(path)
  plain, _ = exported_tflite()
  with pytest.raises(ValueError, match="open it with TFLiteSpanExtractor"):
    TFLiteTextExtractor(plain)
  assert isinstance(open_tflite(plain), TFLiteSpanExtractor)


@pytest.mark.large
def test_options_are_those_of_the_file(file_and_model):
  path, model = file_and_model
  bert_span.TFLiteTextExtractor(
    path, model.window_options, model.decoder_options
  )
  with pytest.raises(
    ValueError, match="doc_stride is 8 in the file, received 4"
  ):
    TFLiteTextExtractor(path, WindowOptions(32, 4, 8))
  with pytest.raises(ValueError, match="max_answer_length is 30 in the file"):
    TFLiteTextExtractor(path, None, DecoderOptions(max_answer_length=1))
  with pytest.raises(ValueError, match="gives no logits"):
    list(TFLiteTextExtractor(path).predict([], on_logits=print))


@pytest.mark.large
def test_a_verification_tells_what_is_in_the_file(file_and_model):
  path, model = file_and_model
  examples = [
    SquadExample(str(i), QUESTION, text) for i, text in enumerate(_PASSAGES)
  ]
  found = tflite_verification.verify_with_tokenizer(
    path, model, examples, "none"
  )
  assert (found.num_questions, found.num_equal) == (6, 6)
  assert found.largest_difference < 1e-4
  # At least the loop's logits and the encoder's layers.
  assert 4 * 32 * 48 < found.peak_arena_bytes < 1e6
  with pytest.raises(ValueError, match="FastBertNormalize"):
    tflite_verification.verify(path, model, examples, "none")
  other = tiny_extractor(version_2=True, seed=8)
  with pytest.raises(ValueError, match="not written"):
    tflite_verification.verify_with_tokenizer(path, other, examples, "none")


@pytest.mark.large
def test_weights_that_are_no_numbers_are_refused(file_and_model, tmp_path):
  good, extractor = file_and_model
  with open(good, "rb") as file:
    model = tflite_file.parse(file.read())
  largest = max(
    (
      model.buffers[tensor.buffer]
      for graph in model.subgraphs
      for tensor in graph.tensors
      if tensor.type == schema.TensorType.FLOAT32
      and model.buffers[tensor.buffer].data is not None
    ),
    key=lambda buffer: len(buffer.data),
  )
  largest.data = np.full(len(largest.data) // 4, np.nan, np.float32).view(
    np.uint8
  )
  content = tflite_file.pack(model)
  config = tflite_file.read_span_config(good)
  config["tflite"].update(tflite_file.fingerprint(content))
  files = {
    **tflite_file.read_files(good),
    CONFIG_FILE: json.dumps(config).encode("utf-8"),
  }
  path = tmp_path / "nan.tflite"
  path.write_bytes(tflite_file.with_files(content, files))
  with pytest.raises(ValueError, match="NaN or an infinity"):
    tflite_verification.verify_with_tokenizer(
      str(path), extractor, [SquadExample("mill", QUESTION, CONTEXT)], "none"
    )


@pytest.mark.large
@pytest.mark.parametrize("quantization", ["float16", "dynamic"])
def test_quantized_files_are_written_with_their_report(tmp_path, quantization):
  path = tmp_path / "qa.tflite"
  report = tflite_export.export_tflite(
    tiny_extractor(),
    str(path),
    tflite_export.TFLiteOptions(quantization, with_tokenizer=True),
  )
  assert report["options"]["with_tokenizer"]
  assert report["verification"]["num_questions"] == 124
  tokenizer = report["tokenizer"]
  assert tokenizer["num_texts"] > 100
  assert tokenizer["capital_sigma"] == tokenizer["other"] == 0
  text = (tmp_path / "qa.tflite.txt").read_text()
  assert "tokenizer inside: 0 of" in text
  assert "on a sample passage" in text


def test_other_heads_and_int8_are_refused():
  options = tflite_export.TFLiteOptions(with_tokenizer=True)
  with pytest.raises(ValueError, match="with a bio head: leave out --with_tok"):
    tflite_export.tflite_content(tiny_extractor(head=BIO_HEAD), options)
  options = tflite_export.TFLiteOptions("int8", with_tokenizer=True)
  with pytest.raises(ValueError, match="cannot be quantized to int8"):
    tflite_export.tflite_content(tiny_extractor(), options)
