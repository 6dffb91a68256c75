"""A TFLite file answers as the model does, whatever the passage."""

import json
import random
import shutil
import zipfile

import pytest
from exported_tflite import exported_tflite
from tiny_extractor import CONTEXT, QUESTION, VOCABULARY

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.text.options import WindowOptions
from bert_span.tflite import tflite_extractor
from bert_span.tflite.tflite_extractor import TFLiteSpanExtractor

_PASSAGES = [
  CONTEXT,
  # Many windows, and no two of the same words, whose logits would be equal.
  "É 🙂 " + " ".join(random.Random(0).choices(VOCABULARY[5:], k=150)),
  "Café 日 was built by ANNA.",
  "mill",
  "",
  " \n\t ",
]


@pytest.mark.large
@pytest.mark.parametrize(
  ("head", "dynamic_length"),
  [(SPAN_HEAD, False), (SPAN_HEAD, True), (BIO_HEAD, True)],
)
def test_answers_are_those_of_the_model(head, dynamic_length):
  path, model = exported_tflite(head, dynamic_length=dynamic_length)
  extractor = TFLiteSpanExtractor(path)
  assert extractor.decoder_options == model.decoder_options
  assert extractor.window_options == model.window_options
  questions = [QUESTION] * len(_PASSAGES)
  expected = model.answers(questions, _PASSAGES)
  given = extractor.answers(questions, _PASSAGES)
  assert len(given) == len(_PASSAGES)
  assert any(expected)
  for wanted, answers, passage in zip(expected, given, _PASSAGES, strict=True):
    assert [a[:3] for a in answers] == [w[:3] for w in wanted]
    for answer, other in zip(answers, wanted, strict=True):
      assert answer.text == passage[answer.char_start : answer.char_end]
      assert answer.score == pytest.approx(other.score, abs=1e-4)


@pytest.mark.large
def test_the_n_best_list_is_that_of_the_model():
  path, model = exported_tflite()
  extractor = TFLiteSpanExtractor(path, num_threads=1)
  expected = model.answer(QUESTION, CONTEXT, n_best=5)
  given = extractor.answer(QUESTION, CONTEXT, n_best=5)
  assert [a[:3] for a in given] == [a[:3] for a in expected]


@pytest.mark.large
def test_options_of_ones_own_replace_those_of_the_file():
  path, _ = exported_tflite()
  extractor = TFLiteSpanExtractor(
    path, WindowOptions(24, 4, 8), DecoderOptions(max_answer_length=1)
  )
  answer = extractor.answer(QUESTION, CONTEXT)
  assert answer.text in CONTEXT
  assert " " not in answer.text
  with pytest.raises(ValueError, match="max_seq_length must be at most 32"):
    TFLiteSpanExtractor(path, WindowOptions(33, 8, 8))


@pytest.mark.large
def test_the_packed_vocabulary_is_the_models():
  path, model = exported_tflite()
  vocabulary = tflite_extractor.read_vocabulary(path)
  assert vocabulary == model.preprocessor.tokenizer.vocabulary


def test_files_that_are_no_model_are_refused(tmp_path):
  path = tmp_path / "no.tflite"
  path.write_bytes(b"0123456789")
  with pytest.raises(ValueError, match=r"no\.tflite is no TFLite file"):
    TFLiteSpanExtractor(path)
  path.write_bytes(b"0000TFL3")
  with pytest.raises(
    ValueError, match=r"has no span_config\.json and no vocab"
  ):
    TFLiteSpanExtractor(path)
  with pytest.raises(OSError, match=r"missing\.tflite"):
    TFLiteSpanExtractor(tmp_path / "missing.tflite")


@pytest.mark.large
def test_a_config_without_the_files_own_part_is_refused(tmp_path):
  path = tmp_path / "other.tflite"
  shutil.copy(exported_tflite()[0], path)
  config = {"format": 1, "head": "span"}
  with (
    pytest.warns(UserWarning, match="Duplicate name"),
    zipfile.ZipFile(path, "a") as archive,
  ):
    archive.writestr("span_config.json", json.dumps(config))
  with pytest.raises(ValueError, match='"tflite" is missing'):
    TFLiteSpanExtractor(path)


@pytest.mark.large
def test_a_damaged_model_is_refused_and_does_not_end_the_process(tmp_path):
  path = tmp_path / "damaged.tflite"
  with open(exported_tflite()[0], "rb") as file:
    content = bytearray(file.read())
  content[100:140] = bytes(40)
  path.write_bytes(content)
  with pytest.raises(ValueError, match=r"damaged\.tflite is damaged"):
    TFLiteSpanExtractor(path)
