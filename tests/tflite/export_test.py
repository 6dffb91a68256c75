"""From an extractor to a TFLite file and its report."""

import hashlib
import json
import os
import shutil

import pytest

from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.squad.reader import SquadFile
from bert_span.tflite import export as tflite_export
from bert_span.tflite import file as tflite_file
from bert_span.tflite.options import ModelInfo, TFLiteOptions
from tests.support.models import CONTEXT, QUESTION, tiny_extractor

_EVALUATED = SquadFile(
  "dev.json",
  (SquadExample("mill", QUESTION, CONTEXT, (AnswerSpan("Anna", 22),)),),
  False,
)


@pytest.mark.large
def test_a_file_is_written_with_its_report_if_its_answers_are_right(
  tmp_path, few_samples, monkeypatch
):
  path = tmp_path / "qa.tflite"
  info = ModelInfo("qa", "Finds answers.", "7", "A")
  options = TFLiteOptions("dynamic", True, 100.0, info)
  extractor = tiny_extractor()
  card = "---\nlicense: mit\n---\n# qa"
  (tmp_path / "model").mkdir()
  (tmp_path / "model" / "README.md").write_text(card)
  report = tflite_export.export_tflite(
    extractor, str(path), options, _EVALUATED, tmp_path / "model"
  )
  shutil.rmtree(tmp_path / "model")
  assert report["training"]["card"] == card.splitlines()
  assert report["options"]["info"]["license"] == "mit"
  names = ["qa.tflite", "qa.tflite.json", "qa.tflite.txt"]
  assert sorted(os.listdir(tmp_path)) == names
  content = path.read_bytes()
  assert report["sha256"] == hashlib.sha256(content).hexdigest()
  assert json.loads((tmp_path / "qa.tflite.json").read_text()) == report
  assert report["verification"]["num_questions"] == len(few_samples)
  config = tflite_file.read_packed_config(path)
  assert config["tflite"]["quantization"] == "dynamic"
  assert report["evaluation"]["num_questions"] == 1
  assert "F1 on dev.json" in (tmp_path / "qa.tflite.txt").read_text()
  # The same file is not what another model answers.
  monkeypatch.setattr(tflite_export, "tflite_content", lambda *_: content)
  extractor.set_weights(tiny_extractor(seed=8).get_weights())
  path.write_text("the old one")
  with pytest.raises(ValueError, match=r"qa\.tflite .*question"):
    tflite_export.export_tflite(extractor, str(path), options)
  assert sorted(os.listdir(tmp_path)) == names
  assert path.read_text() == "the old one"


def test_a_drop_of_f1_beyond_the_limit_is_refused():
  scores = {"f1_drop": 1.5, "num_questions": 9}
  tflite_export.check_f1_drop(scores, None)
  tflite_export.check_f1_drop(scores, 1.5)
  with pytest.raises(ValueError, match=r"1\.50 .* 9 .*max_f1_drop=1\.0"):
    tflite_export.check_f1_drop(scores, 1.0)
  with pytest.raises(ValueError, match="nan"):
    tflite_export.check_f1_drop({**scores, "f1_drop": float("nan")}, 1.0)
