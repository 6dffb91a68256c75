"""DistilBERT: the keys of its own config.json."""

from bert_span.presets.huggingface import huggingface_config


def test_its_keys_are_those_of_its_own_config():
  values = {"model_type": "distilbert", "vocab_size": 60, "n_layers": 2}
  values |= {"n_heads": 2, "dim": 16, "hidden_dim": 24}
  config = huggingface_config(values, "config.json")
  assert (config.num_layers, config.num_heads) == (2, 2)
  assert (config.hidden_dim, config.intermediate_dim) == (16, 24)
