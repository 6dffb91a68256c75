"""task.json and preprocessor.json: what is changed in them, damaged files."""

import json
import shutil

import pytest

from bert_span import DecoderOptions
from bert_span.presets.span_config import read_span_config, update_decoder
from tests.support.models import shared_model


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


def test_a_missing_preprocessor_is_named(copied):
  (copied / "preprocessor.json").unlink()
  with pytest.raises(ValueError, match=rf"{copied}.*preprocessor\.json"):
    read_span_config(copied)
