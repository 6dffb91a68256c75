"""Saving a model and reading it back, here and with KerasHub alone."""

import os

import keras
import keras_hub
import numpy as np
import pytest

from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling import encoder
from bert_span.modeling.bio_head import BioHead
from bert_span.modeling.encoder_config import EncoderConfig
from bert_span.modeling.span_head import SpanHead
from bert_span.modeling.span_model import SpanModel, assign_head
from bert_span.presets import model_directory
from bert_span.presets.load_pretrained import load_pretrained

_SIZES = {
  "vocabulary_size": 11,
  "num_layers": 1,
  "num_heads": 2,
  "hidden_dim": 4,
  "intermediate_dim": 8,
  "max_sequence_length": 6,
  "num_segments": 2,
}
_IDS = np.array([[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 9, 10]], "int32")
_INPUTS = {
  "token_ids": _IDS,
  "segment_ids": np.array([[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]], "int32"),
  "padding_mask": (_IDS > 0).astype("int32"),
}


def _model(head_bias=True, **settings):
  config = EncoderConfig(**_SIZES, **settings)
  model = SpanModel(encoder.build_encoder(config), SpanHead(head_bias))
  if head_bias:
    model.head.bias.assign([0.5, -0.5])
  return model


def _assert_same_logits(one, other):
  expected, received = one(_INPUTS), other(_INPUTS)
  for name in ("start_logits", "end_logits"):
    np.testing.assert_array_equal(expected[name], received[name])


def _load(directory, dtype=None):
  return SPAN_HEAD.model_of(load_pretrained(directory, dtype))


@pytest.mark.parametrize("head_bias", [True, False])
def test_saved_model_gives_the_same_logits(tmp_path, head_bias):
  model = _model(head_bias)
  model_directory.save_span_model(model, tmp_path / "model")
  loaded = _load(tmp_path / "model")
  _assert_same_logits(model, loaded)
  assert loaded.head.use_bias == head_bias


def test_half_precision_is_read_as_float32(tmp_path):
  model = _model()
  model_directory.save_span_model(model, tmp_path, half_precision=True)
  for weight in model.backbone.weights:
    weight.assign(weight.numpy().astype(np.float16).astype(np.float32))
  loaded = _load(tmp_path)
  _assert_same_logits(model, loaded)
  assert {weight.dtype for weight in loaded.weights} == {"float32"}
  assert "float16" not in (tmp_path / "config.json").read_text()


def test_keras_hub_reads_the_encoder_alone(tmp_path):
  model = _model()
  model_directory.save_span_model(model, str(tmp_path))
  for reader in (keras_hub.models.Backbone, keras_hub.models.BertBackbone):
    backbone = reader.from_preset(str(tmp_path))
    np.testing.assert_array_equal(
      backbone(_INPUTS)["sequence_output"],
      model.backbone(_INPUTS)["sequence_output"],
    )
  names = sorted(path.name for path in tmp_path.iterdir())
  assert names == [
    "config.json",
    "metadata.json",
    "model.weights.h5",
    "span_head.safetensors",
  ]


def test_saving_again_replaces_the_model(tmp_path):
  model_directory.save_span_model(_model(), str(tmp_path))
  model = _model()
  model_directory.save_span_model(model, str(tmp_path))
  _assert_same_logits(model, _load(str(tmp_path)))


def test_attention_dropout_survives(tmp_path):
  model = _model(dropout=0.0, attention_dropout=0.3)
  model_directory.save_span_model(model, str(tmp_path))
  loaded = _load(str(tmp_path))
  assert loaded.backbone.dropout == 0.0
  assert encoder.attention_dropout(loaded.backbone) == 0.3
  _assert_same_logits(model, loaded)


def test_attention_dropout_survives_beside_a_tag_head(tmp_path):
  model = _model(dropout=0.0, attention_dropout=0.3)
  model_directory.save_span_model(
    SpanModel(model.backbone, BioHead()), tmp_path
  )
  backbone = model_directory.load_backbone(str(tmp_path))
  assert backbone.dropout == 0.0
  assert encoder.attention_dropout(backbone) == 0.3


def test_a_head_of_any_name_and_weights_is_written_and_read(tmp_path):
  class PointHead(keras.layers.Layer):
    logit_names = ("point_logits",)

    def build(self, input_shape):
      self.vector = self.add_weight(name="vector", shape=(input_shape[-1],))

    def call(self, sequence_output):
      return keras.ops.matmul(sequence_output, self.vector)

  span_model = _model()
  model_directory.save_span_model(span_model, str(tmp_path))
  head = PointHead(name="point_head", dtype="float32")
  model = SpanModel(span_model.backbone, head)
  model_directory.save_span_model(model, str(tmp_path))
  (tmp_path / "pretraining_heads.safetensors").touch()  # not a head's file
  weights = model_directory.read_heads(str(tmp_path))
  assert weights.keys() == {"point_head"}
  expected = model(_INPUTS)["point_logits"]
  head.vector.assign(head.vector * 0)
  assign_head(model, weights["point_head"])
  np.testing.assert_array_equal(model(_INPUTS)["point_logits"], expected)
  model = SpanModel(span_model.backbone, PointHead(name="point"))
  with pytest.raises(ValueError, match=r"_head.*Received: 'point'"):
    model_directory.save_span_model(model, str(tmp_path))


def test_other_file_systems_are_written_and_read():
  model = _model()
  model_directory.save_span_model(model, "ram://model_directory_test/model")
  _assert_same_logits(model, _load("ram://model_directory_test/model"))


def test_model_is_loaded_in_another_precision(tmp_path):
  model_directory.save_span_model(_model(), str(tmp_path))
  loaded = _load(str(tmp_path), "mixed_bfloat16")
  assert loaded.backbone(_INPUTS)["sequence_output"].dtype == "bfloat16"
  assert loaded(_INPUTS)["start_logits"].dtype == "float32"


@pytest.mark.parametrize("name", ["span_head.safetensors", "model.weights.h5"])
def test_damaged_file_is_one_clear_error(tmp_path, name):
  model_directory.save_span_model(_model(), str(tmp_path))
  (tmp_path / name).write_bytes(b"damaged")
  with pytest.raises(ValueError, match=str(tmp_path)):
    _load(str(tmp_path))


def test_missing_encoder_weights_are_one_clear_error(tmp_path):
  model_directory.save_span_model(_model(), str(tmp_path))
  (tmp_path / "model.weights.h5").unlink()
  with pytest.raises(ValueError, match="Cannot load the KerasHub preset"):
    _load(str(tmp_path))


def test_preset_of_another_architecture_is_refused(tmp_path):
  keras_hub.models.DistilBertBackbone(
    vocabulary_size=11,
    num_layers=1,
    num_heads=2,
    hidden_dim=4,
    intermediate_dim=8,
    max_sequence_length=6,
  ).save_to_preset(str(tmp_path))
  with pytest.raises(ValueError, match="Received: DistilBertBackbone"):
    model_directory.load_backbone(str(tmp_path))


def test_others_may_read_every_file_where_the_umask_lets_them(tmp_path):
  before = os.umask(0o022)
  try:
    model_directory.save_span_model(_model(), str(tmp_path))
  finally:
    os.umask(before)
  files = [path for path in tmp_path.rglob("*") if path.is_file()]
  assert {path.stat().st_mode & 0o777 for path in files} == {0o644}
