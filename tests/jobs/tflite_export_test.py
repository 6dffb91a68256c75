"""From an extractor to a TFLite file and its report."""

import hashlib
import json
import os

import pytest
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span.heads.bio import BIO_HEAD
from bert_span.jobs.tflite_export import (
  ModelInfo,
  TFLiteOptions,
  check_f1_drop,
  export_tflite,
  tflite_content,
)
from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.reader import SquadFile
from bert_span.tflite import file as tflite_file

_EVALUATED = SquadFile(
  "dev.json",
  (SquadExample("mill", QUESTION, CONTEXT, (Answer("Anna", 22),)),),
  False,
)


@pytest.mark.large
@pytest.mark.parametrize(
  ("quantization", "with_tokenizer"),
  [("float16", False), ("dynamic", True)],
)
def test_a_file_is_written_with_its_report(
  tmp_path, few_samples, quantization, with_tokenizer
):
  path = tmp_path / "qa.tflite"
  info = ModelInfo("qa", "Finds answers.", "7", "A", "B")
  options = TFLiteOptions(quantization, True, 100.0, info, with_tokenizer)
  evaluated = None if with_tokenizer else _EVALUATED
  report = export_tflite(tiny_extractor(), str(path), options, evaluated)
  assert sorted(os.listdir(tmp_path)) == [
    *("qa.tflite", "qa.tflite.json", "qa.tflite.txt")
  ]
  content = path.read_bytes()
  assert report["sha256"] == hashlib.sha256(content).hexdigest()
  assert json.loads((tmp_path / "qa.tflite.json").read_text()) == report
  assert report["options"]["with_tokenizer"] == with_tokenizer
  assert report["verification"]["num_questions"] == len(few_samples)
  assert report["verification"]["num_equal"] >= 5
  config = tflite_file.read_span_config(path)
  assert config["tflite"]["quantization"] == quantization
  assert config["tflite"]["with_tokenizer"] == with_tokenizer
  text = (tmp_path / "qa.tflite.txt").read_text()
  assert f"quantization:    {quantization}" in text
  assert "1 to 32 WordPieces" in text
  if with_tokenizer:
    tokenizer = report["tokenizer"]
    assert tokenizer["num_texts"] > 5
    assert tokenizer["capital_sigma"] == tokenizer["other"] == 0
    assert "tokenizer inside: 0 of" in text
  else:
    assert report["evaluation"]["num_questions"] == 1
    assert "F1 on dev.json" in text


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_a_file_with_other_answers_is_not_written(tmp_path, monkeypatch):
  path = tmp_path / "qa.tflite"
  path.write_text("the old one")
  extractor = tiny_extractor()
  monkeypatch.setattr(extractor, "predict", tiny_extractor(seed=8).predict)
  with pytest.raises(ValueError, match=r"qa\.tflite is not written"):
    export_tflite(extractor, str(path))
  assert os.listdir(tmp_path) == ["qa.tflite"]
  assert path.read_text() == "the old one"


def test_a_drop_of_f1_beyond_the_limit_is_refused():
  scores = {"f1_drop": 1.5, "num_questions": 9}
  check_f1_drop(scores, None)
  check_f1_drop(scores, 1.5)
  with pytest.raises(ValueError, match=r"1\.50 .* 9 questions.*--max_f1_drop"):
    check_f1_drop(scores, 1.0)
  with pytest.raises(ValueError, match="nan points"):
    check_f1_drop({**scores, "f1_drop": float("nan")}, 1.0)


def test_what_a_file_cannot_have_is_refused():
  options = TFLiteOptions(with_tokenizer=True)
  with pytest.raises(ValueError, match=r"bio head.*--with_tokenizer"):
    tflite_content(tiny_extractor(head=BIO_HEAD), options)
  with pytest.raises(ValueError, match=r"none, float16, dynamic.*'int8'"):
    TFLiteOptions("int8")
