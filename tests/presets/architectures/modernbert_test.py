"""ModernBERT: the names in its files, and from these to its exports."""

import pytest

from bert_span.presets.huggingface import huggingface_config
from tests.support.architectures import (
  SIZES,
  check_files,
  check_names,
  check_resuming,
  check_training,
  check_transformers,
)

# The first layer's inputs are normalized already.
_NAMES = """
  model.embeddings.tok_embeddings.weight
  model.embeddings.norm.weight
  model.final_norm.weight
  model.layers.0.attn.Wqkv.weight
  model.layers.0.attn.Wo.weight
  model.layers.0.mlp_norm.weight
  model.layers.0.mlp.Wi.weight
  model.layers.0.mlp.Wo.weight
  model.layers.1.attn_norm.weight
  model.layers.1.attn.Wqkv.weight
  model.layers.1.attn.Wo.weight
  model.layers.1.mlp_norm.weight
  model.layers.1.mlp.Wi.weight
  model.layers.1.mlp.Wo.weight
"""
_SIZES = {
  "model_type": "modernbert",
  "hidden_size": 16,
  "num_attention_heads": 2,
  "num_hidden_layers": 5,
}
_FULL, _LOCAL = "full_attention", "sliding_attention"
_LAYERS = [_FULL, _LOCAL, _FULL, _LOCAL, _FULL]
_BASES = {
  _FULL: {"rope_theta": 80000.0, "rope_type": "default"},
  _LOCAL: {"rope_theta": 500.0, "rope_type": "default"},
}


def test_its_tensors_have_the_names_of_transformers():
  check_names("modernbert", _NAMES, num_layers=2)


@pytest.mark.parametrize(
  "values",
  [
    {
      "global_attn_every_n_layers": 2,
      "global_rope_theta": 80000.0,
      "local_rope_theta": 500.0,
    },
    {"layer_types": _LAYERS, "rope_parameters": _BASES},
  ],
)
def test_the_keys_of_both_versions_say_the_same(values):
  config = huggingface_config(_SIZES | values, "config.json")
  assert config.global_attn_every_n_layers == 2
  assert config.global_rope_max_wavelength == 80000.0
  assert config.local_rope_max_wavelength == 500.0
  # Keys that are missing are those of the base model.
  assert (config.vocabulary_size, config.sliding_window_size) == (50368, 128)


@pytest.mark.parametrize(
  ("values", "key"),
  [
    ({"layer_types": [*_LAYERS[::-1][1:], _FULL]}, "layer_types"),
    ({"layer_types": [_FULL, _LOCAL, _FULL, _FULL, _LOCAL]}, "layer_types"),
    ({"rope_parameters": {_FULL: _BASES[_FULL]}}, "rope_parameters"),
    (
      {"rope_parameters": _BASES | {_LOCAL: {"rope_type": "yarn"}}},
      "rope_parameters",
    ),
    ({"local_attention": 7}, "sliding window"),
    ({"hidden_size": 18}, "heads' size"),
    ({"hidden_activation": "silu"}, "hidden_activation"),
  ],
)
def test_what_is_not_computed_is_refused_by_name(values, key):
  with pytest.raises(ValueError, match=rf"config\.json: .*{key}"):
    huggingface_config(_SIZES | values, "config.json")


def test_all_layers_may_be_global():
  values = {"layer_types": [_FULL] * 5}
  config = huggingface_config(_SIZES | values, "config.json")
  assert config.global_attn_every_n_layers == 1


def test_files_and_copies_compute_what_it_computes(tmp_path):
  check_files("modernbert", tmp_path)


@pytest.mark.large
@pytest.mark.usefixtures("few_samples")
def test_it_is_trained_and_its_exports_answer_as_it_does(tmp_path):
  check_training("modernbert", tmp_path, "bfloat16", "dynamic")


@pytest.mark.large
def test_a_training_that_was_stopped_has_the_same_weights(tmp_path):
  check_resuming("modernbert", tmp_path)


@pytest.mark.large
def test_transformers_computes_the_same(tmp_path):
  # The special tokens that `extractor_of` has for it.
  names = ("cls", "sep", "pad", "bos", "eos")
  sizes = SIZES | {f"{name}_token_id": i for i, name in enumerate(names)}
  check_transformers(
    "modernbert",
    tmp_path,
    {**sizes, "local_attention": 8, "dtype": "bfloat16"},
    {
      **sizes,
      "num_hidden_layers": 5,
      "local_attention": 4,
      "global_attn_every_n_layers": 2,
    },
  )
