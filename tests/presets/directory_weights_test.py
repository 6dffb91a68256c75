"""The weights of a model directory, here and for KerasHub alone."""

import json
import os
import pathlib
import shutil
from typing import ClassVar

import h5py
import keras
import keras_hub
import numpy as np
import pytest

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.extractor import Extractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling import encoder
from bert_span.presets import directory_weights
from bert_span.presets.load_pretrained import load_pretrained
from tests.support.models import (
  INPUTS,
  extractor_of,
  tiny_encoder,
  tiny_extractor,
)


def _assert_same_outputs(one, other):
  expected, received = one(INPUTS), other(INPUTS)
  for name, values in expected.items():
    np.testing.assert_array_equal(received[name], values)


def _load(directory):
  return SpanExtractor.from_preset(directory, verify=False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
  """A model of two layers and its directory, which tests do not change."""
  directory = tmp_path_factory.mktemp("saved") / "model"
  model = tiny_extractor(num_layers=2)
  model.save_to_preset(directory)
  return model, directory


@pytest.fixture
def copy(saved, tmp_path):
  """A copy of that directory, for a test to change."""
  return pathlib.Path(shutil.copytree(saved[1], tmp_path / "copy"))


@pytest.mark.parametrize(("packed_size", "packing"), [(5, "gzip"), (256, None)])
def test_half_precision_is_read_as_float32(
  tmp_path, monkeypatch, packed_size, packing
):
  monkeypatch.setattr(directory_weights, "_MIN_COMPRESSED_SIZE", packed_size)
  model, directory = tiny_extractor(), tmp_path / "model"
  model.save_to_preset(directory, half_precision=True)
  with h5py.File(directory / "model.weights.h5") as file:
    dense = file["layers/dense/vars"]
    assert dense.attrs["name"] == "pooled_dense"
    assert (dense["0"].dtype, dense["0"].compression) == (np.float16, packing)
  for weight in model.backbone.weights:
    weight.assign(weight.numpy().astype(np.float16).astype(np.float32))
  loaded = _load(directory)
  _assert_same_outputs(model, loaded)
  assert {weight.dtype for weight in loaded.weights} == {"float32"}
  assert "float16" not in (directory / "config.json").read_text()


@pytest.mark.parametrize("value", [7e4, np.nan, -np.inf])
def test_values_that_float16_cannot_hold_leave_the_file(copy, value):
  path = copy / "model.weights.h5"
  with h5py.File(path, "r+") as file:
    file["layers/dense/vars/1"][0] = value
  before, names = path.read_bytes(), sorted(copy.iterdir())
  with pytest.raises(ValueError, match="layers/dense/vars/1"):
    directory_weights.halve_weights(str(path))
  assert path.read_bytes() == before
  assert sorted(copy.iterdir()) == names


def test_keras_hub_reads_the_encoder_alone(saved):
  model, directory = saved
  _assert_same_outputs(_load(directory), model)
  for reader in (keras_hub.models.Backbone, keras_hub.models.BertBackbone):
    _assert_same_outputs(reader.from_preset(str(directory)), model.backbone)


@pytest.mark.large
@pytest.mark.parametrize("has_bias", [False, True])
def test_attention_dropout_and_head_survive_saving_again(tmp_path, has_bias):
  kind = BioExtractor if has_bias else SpanExtractor
  made = tiny_extractor(dropout=0.0, attention_dropout=0.3, kind=kind)
  made = kind(made.backbone, made.preprocessor, head_bias=has_bias)
  made.head_is_trained = True
  made.save_to_preset(tmp_path / "model")
  loaded = load_pretrained(tmp_path / "model")
  assert loaded.head_weights.keys() == {made.head.name}
  weights = loaded.head_weights[made.head.name]
  assert weights.keys() == {weight.name for weight in made.head.weights}
  np.testing.assert_array_equal(weights["kernel"], made.head.kernel)
  assert ("bias" in weights) == has_bias
  assert loaded.backbone.dropout == 0.0
  assert encoder.encoder_config(loaded.backbone).attention_dropout == 0.3
  _assert_same_outputs(loaded.backbone, made.backbone)
  again = Extractor.from_preset(tmp_path / "model")
  assert len(again.head.weights) == len(made.head.weights)


def test_kerashub_reads_the_weights_of_a_head(copy, saved):
  other = tiny_extractor(seed=3, num_layers=2)
  other.load_task_weights(copy / "task.weights.h5")
  np.testing.assert_array_equal(other.head.kernel, saved[0].head.kernel)


def test_a_head_that_cannot_be_saved_is_refused(tmp_path):
  tiny = tiny_extractor()

  class Two(SpanExtractor):
    logits: ClassVar = {"logits": (2,)}

  for head, message in (
    (keras.layers.Dense(2, name="point"), "_head.*'point'"),
    (
      keras.Sequential([keras.layers.Dense(2)], name="dense_head"),
      "dense_head .*weights",
    ),
  ):
    made = Two(tiny.backbone, tiny.preprocessor, head=head)
    made.head_is_trained = True
    with pytest.raises(ValueError, match=message):
      made.save_to_preset(tmp_path / "model")
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
  ("name", "content"),
  [
    ("task.weights.h5", b"damaged"),
    ("task.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(range(256))),
    ("task.weights.h5", None),
    ("model.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(range(256))),
    ("model.weights.h5", None),
    ("config.json", b"[" * 100_000),
    ("config.json", b'{"registered_name": "keras_hub>BertBackbone"}'),
    ("config.json", b'{"registered_name": "keras_hub>FNetBackbone"}'),
    ("config.json", b'{"registered_name": ["keras_hub>BertBackbone"]}'),
    ("config.json", b'{"registered_name": {}}'),
  ],
)
def test_damaged_or_missing_file_is_one_clear_error(copy, name, content):
  (copy / name).unlink()
  if content:
    (copy / name).write_bytes(content)
  with pytest.raises(ValueError, match=str(copy)):
    _load(str(copy))


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    # Keras would read the first layers and ignore the others.
    ({"num_layers": 1}, "floating-point numbers"),
    ({"num_layers": 10**7}, "num_layers.*10000000"),
    ({"hidden_dim": 2**20}, "floating-point numbers"),
    ({"num_heads": 0}, "num_heads.* 0"),
    ({"num_heads": 1}, r"model\.weights\.h5"),
    ({"vocabulary_size": None}, "vocabulary_size.*None"),
  ],
)
def test_a_config_of_other_weights_is_refused(copy, changes, message):
  path = copy / "config.json"
  config = json.loads(path.read_text())
  config["config"] |= changes
  path.write_text(json.dumps(config))
  with pytest.raises(ValueError, match=message) as error:
    _load(str(copy))
  assert str(copy) in str(error.value)


@pytest.mark.parametrize(
  ("name", "path", "dataset"),
  [
    ("pooled_dense/bias", "model.weights.h5", "layers/dense/vars/1"),
    ("span_head/kernel", "task.weights.h5", "layers/span_head/vars/kernel"),
  ],
)
def test_what_is_read_back_otherwise_replaces_nothing(
  copy, monkeypatch, name, path, dataset
):
  write = directory_weights.write_bytes

  def damaging(written, content):
    write(written, content)
    if os.path.basename(written) == path:
      with h5py.File(written, "r+") as file:
        file[dataset][0] += 1

  before = {p: p.read_bytes() for p in copy.rglob("*") if p.is_file()}
  monkeypatch.setattr(directory_weights, "write_bytes", damaging)
  with pytest.raises(ValueError, match=f"{path}.*{name}"):
    tiny_extractor().save_to_preset(copy)
  assert os.listdir(copy.parent) == [copy.name]
  assert before == {p: p.read_bytes() for p in copy.rglob("*") if p.is_file()}


@pytest.mark.large
def test_keras_hub_reads_a_mobilebert(tmp_path):
  extractor = extractor_of("mobilebert")
  extractor.save_to_preset(tmp_path)
  backbone = keras_hub.models.Backbone.from_preset(str(tmp_path))
  np.testing.assert_array_equal(backbone(INPUTS), extractor.backbone(INPUTS))
  tokenizer = keras_hub.models.Tokenizer.from_preset(str(tmp_path))
  assert np.asarray(tokenizer("The mill")).tolist() == [5, 6]


def test_a_model_in_bfloat16_is_not_saved(tmp_path):
  backbone = tiny_encoder(dtype="bfloat16")
  with pytest.raises(ValueError, match=r"bfloat16.*float32"):
    directory_weights.save_backbone(backbone, str(tmp_path))
  assert not list(tmp_path.iterdir())


def test_a_trained_head_without_its_file_is_refused(copy):
  (copy / "task.weights.h5").unlink()
  with pytest.raises(ValueError, match=r"task\.weights\.h5"):
    directory_weights.read_heads(str(copy))
  task = json.loads((copy / "task.json").read_text())
  task["config"]["head_is_trained"] = False
  (copy / "task.json").write_text(json.dumps(task))
  assert directory_weights.read_heads(str(copy)) == {}
