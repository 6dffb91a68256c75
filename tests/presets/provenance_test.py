"""Where a model comes from."""

import pytest

from bert_span.presets import provenance
from bert_span.serving import export as serving
from bert_span.tflite import export as tflite
from tests.support.models import shared_extractor


def test_what_is_beside_a_model_of_run_squad_is_in_its_training_run(tmp_path):
  model = tmp_path / "model"
  model.mkdir()
  (model / "metadata.json").write_text('{"keras_version": "3"}')
  (tmp_path / "run.flags").write_text("--do_train\n--seed=7\n")
  (tmp_path / "README.md").write_text("# Mine\n")
  (tmp_path / "eval_results.json").write_text('{"exact": 80.5}')
  assert provenance.training_run(f"{model}/") == {
    "card": ["# Mine"],
    "metadata": {"keras_version": "3"},
    "flags": ["--do_train", "--seed=7"],
    "scores": {"exact": 80.5},
  }
  # Of a folder with another name only its own files count.
  own = model.rename(tmp_path / "bert")
  assert set(provenance.training_run(str(own))) == {"metadata"}
  (own / "eval_results.json").write_text("{")
  with pytest.raises(ValueError, match=r"eval_results.json.*not JSON"):
    provenance.training_run(str(own))


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
