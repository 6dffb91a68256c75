"""The encoder that is built from an EncoderConfig."""

import keras
import numpy as np
import pytest

from bert_span.modeling import encoder
from bert_span.modeling.encoder import EncoderConfig
from tests.support.models import INPUTS, tiny_config, tiny_encoder


def test_deberta_needs_buckets_that_fit_its_positions():
  for buckets in (None, 10):
    with pytest.raises(ValueError, match=f"6 positions.*Received: {buckets}"):
      tiny_config(architecture="deberta-v2", position_buckets=buckets)


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
