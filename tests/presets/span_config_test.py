"""task.json, preprocessor.json and the model that comes with the package."""

import json
import pathlib
import shutil

import pytest

from bert_span import DecoderOptions, SpanExtractor
from bert_span.calibrate import CalibrateOptions
from bert_span.jobs.calibrate import calibrate
from bert_span.presets import span_config
from bert_span.presets.load_pretrained import load_pretrained
from bert_span.presets.span_config import (
  find_embedded_model,
  read_span_config,
  update_decoder,
)
from tests.support.models import shared_extractor, shared_model


@pytest.fixture
def copied(tmp_path):
  """A copy of a model directory."""
  return shutil.copytree(shared_model(), tmp_path / "model")


def test_updating_the_decoder_leaves_all_else(copied):
  changes = {"temperature": 1.5, "null_score_diff_threshold": -2.25}
  before, task = read_span_config(copied), _read(copied / "task.json")
  files = {path: path.read_bytes() for path in copied.rglob("*.*")}
  update_decoder(copied, changes)
  after = read_span_config(copied)
  assert DecoderOptions(**after["decoder"]) == DecoderOptions(**changes)
  assert {**after, "decoder": before["decoder"]} == before
  task["config"]["decoder_options"] |= changes
  assert _read(copied / "task.json") == task
  changed = [path for path in files if path.read_bytes() != files[path]]
  assert changed == [copied / "task.json"]


def test_a_task_of_kerashub_is_none_of_ours(copied):
  task = _read(copied / "task.json")
  del task["config"]["head_name"]
  task["registered_name"] = "keras_hub>BertTextClassifier"
  (copied / "task.json").write_text(json.dumps(task))
  assert read_span_config(copied) is None


def _read(path):
  return json.loads(path.read_text())


@pytest.mark.parametrize(
  ("name", "key", "value", "message"),
  [
    ("task", None, [], "object"),
    ("task", "config", [], r"object"),
    ("task", "head_name", 7, "head_name.*7"),
    ("task", "decoder_options", None, "decoder_options.*None"),
    ("task", "head_is_trained", "false", "head_is_trained.*'false'"),
    ("preprocessor", None, 3, "object"),
    ("preprocessor", "tokenizer", [], r"tokenizer.*\[\]"),
    ("preprocessor", "tokenizer", {"config": 2}, "tokenizer"),
    (
      "preprocessor",
      "tokenizer",
      {"config": {"do_lower_case": "false"}},
      "do_lower_case.*'false'",
    ),
    ("preprocessor", "options", [], r"options.*\[\]"),
    ("preprocessor", "options", {"max_seq_length": "384"}, "length.*'384'"),
    ("preprocessor", "options", {"doc_stride": 0}, "doc_stride.* 0"),
    ("preprocessor", "options", {"stride": 3}, "stride"),
  ],
)
def test_values_of_other_types_are_refused(copied, name, key, value, message):
  path = copied / f"{name}.json"
  values = _read(path)
  if key is None:
    values = value
  elif key == "config":
    values[key] = value
  else:
    values["config"][key] = value
  path.write_text(json.dumps(values))
  with pytest.raises(ValueError, match=rf"{name}\.json.*{message}"):
    read_span_config(copied)


def _span_config(**changes):
  values = span_config.span_config(shared_extractor()) | changes
  return json.dumps(values).encode()


def test_the_span_config_of_a_file_says_what_the_model_says():
  config = span_config.parse_span_config(_span_config(), "qa.tflite")
  assert (config["head"], config["do_lower_case"]) == ("span", True)
  window = {"max_seq_length": 32, "doc_stride": 8, "max_query_length": 8}
  assert config["window"].items() >= window.items()
  options = shared_extractor().decoder_options
  assert DecoderOptions(**config["decoder"]) == options


@pytest.mark.parametrize(
  ("changes", "names"),
  [
    ({"format": 2}, "format 2"),
    ({"head": 7}, "head.* 7"),
    ({"do_lower_case": "true"}, "do_lower_case.*'true'"),
    ({"window": None}, "window.*None"),
    ({"window": {"doc_stride": 0}}, "window.*doc_stride"),
    ({"decoder": []}, r"decoder.*\[\]"),
  ],
)
def test_a_damaged_span_config_is_refused_by_its_file(changes, names):
  with pytest.raises(ValueError, match=rf"qa\.tflite.*{names}"):
    span_config.parse_span_config(_span_config(**changes), "qa.tflite")


def test_a_missing_preprocessor_is_named(copied):
  (copied / "preprocessor.json").unlink()
  with pytest.raises(ValueError, match=rf"{copied}.*preprocessor\.json"):
    read_span_config(copied)


def test_missing_files_and_other_names(tmp_path, monkeypatch):
  monkeypatch.setattr(span_config, "_FOLDER", str(tmp_path / "pretrained"))
  monkeypatch.chdir(tmp_path)
  for load in (load_pretrained, read_span_config):
    with pytest.raises(ValueError, match=r"minilm_squad.*pretrained"):
      load("minilm_squad")
  for preset in ("all-minilm-l6-v2", "some/model", tmp_path):
    assert find_embedded_model(preset) == str(preset)
  # A directory of that name goes before the model.
  (tmp_path / "minilm_squad").mkdir()
  assert find_embedded_model("minilm_squad") == "minilm_squad"


def test_the_embedded_model_is_small_and_has_a_notice_and_a_card():
  folder = pathlib.Path(find_embedded_model("minilm_squad"))
  files = [path for path in folder.rglob("*") if path.is_file()]
  assert sum(path.stat().st_size for path in files) <= 45_000_000
  assert (folder.parent / "NOTICE").is_file()
  card = (folder / "README.md").read_text("utf-8")
  assert "license: apache-2.0" in card
  assert "\n- Trained on " in card


@pytest.mark.large
@pytest.mark.usefixtures("eager")
def test_the_embedded_model_answers_and_is_not_calibrated(tmp_path):
  extractor = SpanExtractor.from_preset("minilm_squad")
  context = "The mill was built by Anna Berg in 1895. A fire hit the roof."
  questions = ["Who built the mill?", "How much did the bakery in London cost?"]
  found, none = extractor.answer(questions, [context, context])
  assert (found.text, none.text) == ("Anna Berg", "")
  assert 0.5 < found.probability <= 1.0
  assert extractor.decoder_options.temperature is not None
  options = CalibrateOptions(
    model="minilm_squad", predict_file="x.json", output_dir=tmp_path
  )
  with pytest.raises(ValueError, match=r"minilm_squad.*save_to_preset"):
    calibrate(options)
