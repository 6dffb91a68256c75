"""The whole way from an extractor to a published version."""

import dataclasses
import importlib.util
import json
import math
import os

import pytest
import tensorflow as tf
from tiny_extractor import tiny_extractor

from bert_span.answers.decoding.options import StepOptions
from bert_span.heads.bio import BIO_HEAD
from bert_span.jobs import saved_model_export

_HAS_SERVING_API = importlib.util.find_spec("tensorflow_serving") is not None


def _files(directory):
  return {
    os.path.relpath(os.path.join(folder, name), directory)
    for folder, _, names in os.walk(directory)
    for name in names
  }


@pytest.mark.large
def test_a_version_is_written_checked_and_described(tmp_path):
  tiny_extractor().save_to_preset(tmp_path / "model")
  (tmp_path / "eval_results.json").write_text('{"f1": 12.5}')
  path, verified = saved_model_export.export_saved_model(
    tiny_extractor(),
    tmp_path / "base",
    steps=StepOptions(5),
    source=str(tmp_path / "model"),
  )
  assert path == str(tmp_path / "base" / "1")
  assert os.listdir(tmp_path / "base") == ["1"]
  assert verified.num_questions == 124
  assert verified.largest_difference < 1e-4
  expected = {
    "saved_model.pb",
    "fingerprint.pb",
    "variables/variables.index",
    "variables/variables.data-00000-of-00001",
    "assets/vocab.txt",
    "assets.extra/README.md",
    "assets.extra/model_card.json",
  }
  if _HAS_SERVING_API:
    expected.add("assets.extra/tf_serving_warmup_requests")
  assert _files(path) == expected
  with open(os.path.join(path, "assets.extra/model_card.json")) as file:
    card = json.load(file)
  assert card["options"]["max_windows_per_step"] == 5
  assert card["training"]["scores"] == {"f1": 12.5}
  assert card["encoder"]["layers"] == 1
  assert card["text_ops"] == list(verified.text_ops)


@pytest.mark.large
def test_a_bio_head_is_exported_with_its_own_outputs(tmp_path):
  path, verified = saved_model_export.export_saved_model(
    tiny_extractor(head=BIO_HEAD), tmp_path, dtype="bfloat16"
  )
  assert verified.num_questions == 124
  with open(os.path.join(path, "assets.extra/model_card.json")) as file:
    card = json.load(file)
  assert card["options"]["head"] == "bio"
  assert card["options"]["decoding"] == "viterbi"
  outputs = card["signatures"]["serving_default"]["outputs"]
  assert outputs["span_text"]["shape"] == [-1, -1]
  assert "n_best_answer" not in outputs


@pytest.mark.large
def test_a_version_is_exported_without_tensorflow_serving_api(
  tmp_path, monkeypatch, capsys
):
  tiny_extractor().save_to_preset(tmp_path / "model")
  monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
  model, base = str(tmp_path / "model"), str(tmp_path / "base")
  with pytest.raises(ValueError, match="--warmup"):
    saved_model_export.export_model(model, base, with_warmup=True)
  saved_model_export.export_model(model, base)
  assert _files(os.path.join(base, "1", "assets.extra")) == {
    "README.md",
    "model_card.json",
  }
  assert capsys.readouterr().err.count("tensorflow-serving-api") == 1


@pytest.mark.large
def test_a_model_that_answers_otherwise_is_not_published(tmp_path, monkeypatch):
  extractor = tiny_extractor()
  other = tiny_extractor(seed=8)
  monkeypatch.setattr(extractor, "predict", other.predict)
  with pytest.raises(ValueError, match="so it is not published"):
    saved_model_export.export_saved_model(
      extractor, tmp_path / "base", with_warmup=False
    )
  assert os.listdir(tmp_path / "base") == []


@pytest.mark.large
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_halves_the_variables(tmp_path, dtype):
  extractor = tiny_extractor()
  path, verified = saved_model_export.export_saved_model(
    extractor, tmp_path, dtype=dtype, with_warmup=False
  )
  assert verified.num_questions == 124
  reader = tf.train.load_checkpoint(os.path.join(path, "variables/variables"))
  dtypes = reader.get_variable_to_dtype_map()
  numbers = {
    name: math.prod(shape)
    for name, shape in reader.get_variable_to_shape_map().items()
    if "OBJECT_GRAPH" not in name
  }
  size = sum(dtypes[name].size * n for name, n in numbers.items())
  in_float32 = 4 * sum(numbers.values())
  assert in_float32 / 2 < size < in_float32 * 0.55  # the head stays float32


def test_the_sample_has_a_passage_of_many_windows_and_blank_ones():
  examples = saved_model_export.sample_examples()
  assert len({example.qas_id for example in examples}) == len(examples) == 124
  assert max(len(example.context) for example in examples) > 10_000
  assert sum(not example.context.strip() for example in examples) == 2
  assert all(dataclasses.is_dataclass(example) for example in examples)
