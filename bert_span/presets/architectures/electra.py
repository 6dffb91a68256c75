"""ELECTRA's files. Source: Clark et al. 2020, arXiv 2003.10555."""

import keras_hub

from bert_span.presets.architectures.architecture_files import ArchitectureFiles

_WEIGHTS = {
  "token_embedding/embeddings": "embeddings.word_embeddings.weight",
  "position_embedding/embeddings": "embeddings.position_embeddings.weight",
  "segment_embedding/embeddings": "embeddings.token_type_embeddings.weight",
  "embeddings_layer_norm/gamma": "embeddings.LayerNorm.weight",
  "embeddings_layer_norm/beta": "embeddings.LayerNorm.bias",
}
# Where the tables of embeddings are narrower than a token's vector.
_PROJECTION = {
  "embeddings_projection/kernel": "embeddings_project.weight",
  "embeddings_projection/bias": "embeddings_project.bias",
}
# KerasHub's ELECTRA has a pooler, with random values; transformers' has none.
_POOLER = {
  "pooled_dense/kernel": "pooler.dense.weight",
  "pooled_dense/bias": "pooler.dense.bias",
}
_ATTENTION = {
  "query/kernel": "attention.self.query.weight",
  "query/bias": "attention.self.query.bias",
  "key/kernel": "attention.self.key.weight",
  "key/bias": "attention.self.key.bias",
  "value/kernel": "attention.self.value.weight",
  "value/bias": "attention.self.value.bias",
  "attention_output/kernel": "attention.output.dense.weight",
  "attention_output/bias": "attention.output.dense.bias",
}
_LAYER = {
  **{f"self_attention_layer/{path}": n for path, n in _ATTENTION.items()},
  "self_attention_layer_norm/gamma": "attention.output.LayerNorm.weight",
  "self_attention_layer_norm/beta": "attention.output.LayerNorm.bias",
  "feedforward_intermediate_dense/kernel": "intermediate.dense.weight",
  "feedforward_intermediate_dense/bias": "intermediate.dense.bias",
  "feedforward_output_dense/kernel": "output.dense.weight",
  "feedforward_output_dense/bias": "output.dense.bias",
  "feedforward_layer_norm/gamma": "output.LayerNorm.weight",
  "feedforward_layer_norm/beta": "output.LayerNorm.bias",
}


def _weight_names(config):
  is_narrow = config.embedding_dim not in (None, config.hidden_dim)
  projection = _PROJECTION if is_narrow else {}
  return {
    **_WEIGHTS,
    **projection,
    **_POOLER,
    **{
      f"transformer_layer_{i}/{path}": f"encoder.layer.{i}.{name}"
      for i in range(config.num_layers)
      for path, name in _LAYER.items()
    },
  }


FILES = ArchitectureFiles(
  class_name="Electra",
  prefix="electra.",
  keys={
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "max_sequence_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
    "activation": "hidden_act",
    "layer_norm_epsilon": "layer_norm_eps",
    "embedding_dim": "embedding_size",
  },
  weight_names=_weight_names,
  defaults={"vocab_size": 30522, "type_vocab_size": 2, "hidden_act": "gelu"},
  values={"position_embedding_type": ("absolute", None)},
  written={"pad_token_id": 0},
  keras_tokenizer=keras_hub.models.ElectraTokenizer,
)
