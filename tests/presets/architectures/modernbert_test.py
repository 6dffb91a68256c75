"""ModernBERT: the keys of its config.json, in both versions of them."""

import pytest

from bert_span.presets.huggingface import huggingface_config

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
