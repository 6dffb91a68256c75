"""The whole way from an extractor to a TFLite file and its report."""

import hashlib
import json
import os

import pytest
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span.jobs import tflite_export
from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.reader import SquadFile
from bert_span.tflite import file as tflite_file
from bert_span.tflite.metadata import ModelInfo

_EVALUATED = SquadFile(
  "dev.json",
  (SquadExample("mill", QUESTION, CONTEXT, (Answer("Anna", 22),)),),
  False,
)


@pytest.mark.large
@pytest.mark.parametrize("quantization", ["none", "dynamic"])
def test_a_file_is_written_with_its_report(tmp_path, quantization):
  path = tmp_path / "qa.tflite"
  options = tflite_export.TFLiteOptions(
    quantization, True, 100.0, ModelInfo("qa", "Finds answers.", "7", "A", "B")
  )
  report = tflite_export.export_tflite(
    tiny_extractor(), str(path), options, _EVALUATED
  )
  assert sorted(os.listdir(tmp_path)) == [
    *("qa.tflite", "qa.tflite.json", "qa.tflite.txt")
  ]
  content = path.read_bytes()
  assert report["sha256"] == hashlib.sha256(content).hexdigest()
  assert json.loads((tmp_path / "qa.tflite.json").read_text()) == report
  assert report["verification"]["num_questions"] == 124
  assert report["verification"]["num_equal"] >= 75
  assert report["evaluation"]["num_questions"] == 1
  text = (tmp_path / "qa.tflite.txt").read_text()
  assert f"quantization:    {quantization}" in text
  assert "1 to 32 WordPieces" in text
  assert tflite_file.read_span_config(path)["tflite"]["quantization"] == (
    quantization
  )


@pytest.mark.large
def test_a_file_that_answers_otherwise_is_not_written(tmp_path, monkeypatch):
  path = tmp_path / "qa.tflite"
  path.write_text("the old one")
  extractor = tiny_extractor()
  monkeypatch.setattr(extractor, "predict", tiny_extractor(seed=8).predict)
  with pytest.raises(ValueError, match="It is not written"):
    tflite_export.export_tflite(extractor, str(path))
  assert os.listdir(tmp_path) == ["qa.tflite"]
  assert path.read_text() == "the old one"


def test_a_drop_of_f1_beyond_the_limit_is_refused():
  scores = {"f1_drop": 1.5, "num_questions": 9}
  tflite_export.check_f1_drop(scores, None)
  tflite_export.check_f1_drop(scores, 1.5)
  with pytest.raises(ValueError, match=r"1\.50 points below .* on 9 questions"):
    tflite_export.check_f1_drop(scores, 1.0)
  with pytest.raises(ValueError, match="nan points"):
    tflite_export.check_f1_drop({**scores, "f1_drop": float("nan")}, 1.0)


@pytest.mark.large
def test_full_integer_quantization_is_calibrated_on_windows_of_text():
  content = tflite_export.tflite_content(
    tiny_extractor(),
    tflite_export.TFLiteOptions("int8"),
    calibration=[SquadExample("mill", QUESTION, CONTEXT)],
  )
  ops = tflite_file.op_counts(tflite_file.parse(content))
  tflite_file.check_ops(ops)
  assert ops["QUANTIZE"] > 0
  with pytest.raises(ValueError, match="needs calibration data"):
    tflite_export.tflite_content(
      tiny_extractor(), tflite_export.TFLiteOptions("int8")
    )
