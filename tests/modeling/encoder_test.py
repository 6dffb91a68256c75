"""Reading bert_config.json, and the encoder built from it."""

import dataclasses
import json

import keras
import numpy as np
import pytest
from tiny_encoder import INPUTS, tiny_config, tiny_encoder

from bert_span.modeling import encoder
from bert_span.modeling.architectures import MOBILEBERT_KEYS
from bert_span.modeling.encoder import huggingface_config, read_bert_config

_TINY = {"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 2}
_TINY |= {"num_attention_heads": 2, "intermediate_size": 16}
_TINY |= {"max_position_embeddings": 6, "type_vocab_size": 2}


def read(folder, values):
  """Reads values as a bert_config.json."""
  path = folder / "bert_config.json"
  path.write_text(json.dumps(values), encoding="utf-8")
  return read_bert_config(str(path))


def test_all_sizes_are_read_and_unknown_keys_ignored(tmp_path):
  values = {**_TINY, "hidden_dropout_prob": 0.2, "hidden_act": "gelu"}
  values |= {"attention_probs_dropout_prob": 0.3, "initializer_range": 0.05}
  expected = tiny_config(
    num_layers=2, dropout=0.2, attention_dropout=0.3, initializer_range=0.05
  )
  assert read(tmp_path, {**values, "directionality": "bidi"}) == expected


def test_missing_keys_take_the_originals_defaults(tmp_path):
  config = read(tmp_path, {"vocab_size": 30522})
  assert dataclasses.astuple(config)[:10] == (
    *(30522, 12, 12, 768, 3072, 0.1, 0.1, 512, 16, 0.02),
  )
  config = huggingface_config({"model_type": "bert"}, "config.json")
  assert (config.vocabulary_size, config.num_segments) == (30522, 2)


def test_keys_of_mobilebert_describe_a_mobilebert(tmp_path):
  # uncased_L-24_H-128_B-512_A-4_F-4_OPT.json, but small.
  values = {**_TINY, "hidden_act": "relu", "embedding_size": 4}
  values |= {"trigram_input": True, "use_bottleneck": True}
  values |= {"intra_bottleneck_size": 6, "key_query_shared_bottleneck": True}
  values |= {"num_feedforward_networks": 4, "normalization_type": "no_norm"}
  changes = {name: values[name] for name in MOBILEBERT_KEYS if name in values}
  expected = tiny_config(
    architecture="mobilebert",
    num_layers=2,
    activation="relu",
    embedding_dim=4,
    **changes,
  )
  assert read(tmp_path, {**values, "classifier_activation": False}) == expected
  # Its teacher's file leaves out what is false.
  values = {**_TINY, "use_bottleneck": True, "intra_bottleneck_size": 32}
  config = read(tmp_path, values)
  assert (config.architecture, config.activation) == ("mobilebert", "gelu_new")
  assert (config.normalization_type, config.inner_dim) == ("layer_norm", 32)
  assert not config.key_query_shared_bottleneck
  # transformers' class has the defaults of the released model.
  config = huggingface_config({"model_type": "mobilebert"}, "config.json")
  backbone = encoder.build_encoder(dataclasses.replace(config, num_layers=1))
  # Embeddings and a layer; with 24 layers 24.6 million.
  assert backbone.count_params() == 4_368_128 + 842_240


def test_impossible_settings_are_refused_by_name(tmp_path):
  with pytest.raises(ValueError, match=r"vocab_size.*d_model"):
    read(tmp_path, {"hidden_size": 8, "d_model": 4})
  for changes, message in (
    ({"hidden_size": 9}, "Received: 9 and 2"),
    ({"hidden_act": "silu"}, "hidden_act.*'silu'"),
    ({"vocab_size": "many"}, "vocab_size.*'many'"),
    ({"num_hidden_layers": 0}, "num_hidden_layers.* 0"),
    ({"type_vocab_size": True}, "type_vocab_size.*True"),
    ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob.*1.0"),
    ({"initializer_range": 0}, "initializer_range.* 0"),
    ({"normalization_type": "manual_layer_norm"}, "manual_layer_norm"),
    ({"use_bottleneck": True, "intra_bottleneck_size": 9}, "bottleneck.*9 and"),
    ({"num_feedforward_networks": 0}, "num_feedforward_networks.* 0"),
    ({"trigram_input": "yes"}, "trigram_input.*'yes'"),
  ):
    with pytest.raises(ValueError, match=rf"bert_config\.json.*{message}"):
      read(tmp_path, {**_TINY, **changes})


def test_deberta_needs_buckets_that_fit_its_positions():
  for buckets in (None, 10):
    with pytest.raises(ValueError, match=f"6 positions.*Received: {buckets}"):
      tiny_config(architecture="deberta-v2", position_buckets=buckets)


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
