"""The encoder that is built from an EncoderConfig."""

import keras
import numpy as np
import pytest

from bert_span.modeling import encoder
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import EncoderConfig
from tests.support.models import (
  ALBERT,
  INPUTS,
  MOBILEBERT,
  tiny_config,
  tiny_encoder,
  varied_encoder,
)


@pytest.mark.parametrize("architecture", ["t5", "mobilebert"])
def test_an_architecture_without_its_config_is_refused(architecture):
  config = EncoderConfig(10, architecture=architecture)
  with pytest.raises(ValueError, match=r"mobilebert: MobileBertConfig"):
    encoder.build_encoder(config)


@pytest.mark.parametrize("architecture", ["bert", "deberta-v2"])
def test_attention_dropout_alone_makes_training_random(architecture):
  backbone = tiny_encoder(
    architecture=architecture, dropout=0.0, attention_dropout=0.5
  )

  def output(training):
    inputs = {name: INPUTS[name] for name in backbone.input}
    outputs = backbone(inputs, training=training)
    return np.array(
      outputs["sequence_output"] if isinstance(outputs, dict) else outputs
    )

  np.testing.assert_array_equal(output(False), output(False))
  assert np.abs(output(True) - output(False)).max() > 1e-4


def test_random_matrices_have_the_configured_deviation():
  keras.utils.set_random_seed(3)
  backbone = tiny_encoder(vocabulary_size=2000, initializer_range=0.2)
  weights = {weight.path: weight.numpy() for weight in backbone.weights}
  table = weights["token_embedding/embeddings"]
  assert 0.172 < table.std() < 0.180  # 0.88 of it, being cut at 2 deviations
  assert np.abs(table).max() <= 0.400001
  gamma = weights["embeddings_layer_norm/gamma"]
  np.testing.assert_array_equal(gamma, np.ones(8))
  query = weights["transformer_layer_0/self_attention_layer/query/kernel"]
  key = weights["transformer_layer_0/self_attention_layer/key/kernel"]
  assert not np.allclose(query, key)
  sizes = {"position_buckets": 500, "max_sequence_length": 512}
  backbone = tiny_encoder(
    architecture="deberta-v2", initializer_range=0.2, **sizes
  )
  assert 0.170 < np.std(backbone.relative_embeddings.rel_embeddings) < 0.180


def test_window_longer_than_the_position_table_is_refused():
  backbone = tiny_encoder()
  encoder.check_sequence_length(backbone, 6)
  with pytest.raises(ValueError, match=r"at most 6.*Received: 7"):
    encoder.check_sequence_length(backbone, 7)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_an_encoder_has_the_settings_of_its_config(name):
  changes = {"activation": "relu", "layer_norm_epsilon": 1e-3}
  changes |= {"dropout": 0.2, "attention_dropout": 0.3, "embedding_dim": 4}
  config = tiny_config(architecture=name, **changes)
  found = encoder.encoder_config(encoder.build_encoder(config))
  assert type(found) is type(config)
  # Other fields are not of this architecture.
  for field in {*changes, *ARCHITECTURES[name].arguments} - {"embedding_dim"}:
    assert getattr(found, field) == getattr(config, field), field
  if "embedding_dim" in ARCHITECTURES[name].arguments:
    assert found.embedding_dim == 4


@pytest.mark.large
@pytest.mark.parametrize(
  ("dtype", "changes"),
  [
    *(("bfloat16", {"architecture": name}) for name in ARCHITECTURES),
    ("float16", {"architecture": "mobilebert", **MOBILEBERT}),
    ("mixed_bfloat16", {"architecture": "mobilebert", **MOBILEBERT}),
    ("float16", {"architecture": "modernbert"}),
  ],
)
def test_vectors_in_half_precision_are_near_those_in_float32(dtype, changes):
  exact, rounded = (varied_encoder(d, **changes) for d in ("float32", dtype))
  rounded.set_weights(exact.get_weights())
  expected, found = (
    np.asarray(encoder.encode(each, INPUTS), np.float32)[
      INPUTS["token_ids"] > 0
    ]
    for each in (exact, rounded)
  )
  scale = np.abs(expected).max()
  assert 0 < np.abs(found - expected).max() < 0.1 * scale


def test_the_layers_of_a_group_are_called_before_those_of_the_next():
  backbone = tiny_encoder(architecture="albert", **ALBERT)
  assert [layer.name for layer in encoder.layer_calls(backbone)] == [
    f"group_{group}_inner_layer_{layer}"
    for group in (0, 1)
    for _ in (0, 1)  # Four layers of two groups: each is called twice.
    for layer in (0, 1, 2)
  ]


def test_merged_weights_are_those_of_a_model_without_lora():
  backbone = tiny_encoder()
  plain = {weight.path: weight.numpy() for weight in backbone.weights}
  backbone.enable_lora(2)
  for weight in backbone.weights:
    if "lora" in weight.path:
      weight.assign(weight + 1)
  merged = {w.path: value for w, value in encoder.merged_weights(backbone)}
  assert merged.keys() == plain.keys()
  changed = {p for p in plain if not np.array_equal(merged[p], plain[p])}
  attention = "transformer_layer_0/self_attention_layer"
  assert changed == {f"{attention}/{x}/kernel" for x in ("query", "value")}


def test_a_quantized_layer_is_named():
  backbone = tiny_encoder()
  layer = backbone.transformer_layers[0]
  layer._feedforward_intermediate_dense.quantize("int8")
  with pytest.raises(ValueError, match=r"transformer_layer_0.*int8"):
    encoder.encoder_config(backbone)
