"""DistilBERT's files. Source: Sanh et al. 2019, arXiv 1910.01108."""

import keras_hub

from bert_span.presets.architectures.architecture_files import ArchitectureFiles

_EMBEDDINGS = {
  "token_embedding/embeddings": "word_embeddings.weight",
  "position_embedding/embeddings": "position_embeddings.weight",
}
_WEIGHTS = {
  **{
    f"token_and_position_embedding/{path}": f"embeddings.{name}"
    for path, name in _EMBEDDINGS.items()
  },
  "embeddings_layer_norm/gamma": "embeddings.LayerNorm.weight",
  "embeddings_layer_norm/beta": "embeddings.LayerNorm.bias",
}
_LAYER = {
  "self_attention_layer/query/kernel": "attention.q_lin.weight",
  "self_attention_layer/query/bias": "attention.q_lin.bias",
  "self_attention_layer/key/kernel": "attention.k_lin.weight",
  "self_attention_layer/key/bias": "attention.k_lin.bias",
  "self_attention_layer/value/kernel": "attention.v_lin.weight",
  "self_attention_layer/value/bias": "attention.v_lin.bias",
  "self_attention_layer/attention_output/kernel": "attention.out_lin.weight",
  "self_attention_layer/attention_output/bias": "attention.out_lin.bias",
  "self_attention_layer_norm/gamma": "sa_layer_norm.weight",
  "self_attention_layer_norm/beta": "sa_layer_norm.bias",
  "feedforward_intermediate_dense/kernel": "ffn.lin1.weight",
  "feedforward_intermediate_dense/bias": "ffn.lin1.bias",
  "feedforward_output_dense/kernel": "ffn.lin2.weight",
  "feedforward_output_dense/bias": "ffn.lin2.bias",
  "feedforward_layer_norm/gamma": "output_layer_norm.weight",
  "feedforward_layer_norm/beta": "output_layer_norm.bias",
}


def _weight_names(config):
  return _WEIGHTS | {
    f"transformer_layer_{i}/{path}": f"transformer.layer.{i}.{name}"
    for i in range(config.num_layers)
    for path, name in _LAYER.items()
  }


FILES = ArchitectureFiles(
  class_name="DistilBert",
  prefix="distilbert.",
  keys={
    "vocabulary_size": "vocab_size",
    "num_layers": "n_layers",
    "num_heads": "n_heads",
    "hidden_dim": "dim",
    "intermediate_dim": "hidden_dim",
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "max_sequence_length": "max_position_embeddings",
    "activation": "activation",
  },
  weight_names=_weight_names,
  defaults={"vocab_size": 30522, "activation": "gelu"},
  values={"position_embedding_type": ("absolute", None)},
  written={"pad_token_id": 0},
  keras_tokenizer=keras_hub.models.DistilBertTokenizer,
)
