"""ALBERT's files. Source: Lan et al. 2019, arXiv 1909.11942."""

import keras_hub

from bert_span.presets.architectures.architecture_files import ArchitectureFiles
from bert_span.text.vocabulary import SENTENCE_PIECES, WORD_PIECES

_WEIGHTS = {
  "token_embedding/embeddings": "embeddings.word_embeddings.weight",
  "position_embedding/embeddings": "embeddings.position_embeddings.weight",
  "segment_embedding/embeddings": "embeddings.token_type_embeddings.weight",
  "embeddings_layer_norm/gamma": "embeddings.LayerNorm.weight",
  "embeddings_layer_norm/beta": "embeddings.LayerNorm.bias",
  "embedding_projection/kernel": "encoder.embedding_hidden_mapping_in.weight",
  "embedding_projection/bias": "encoder.embedding_hidden_mapping_in.bias",
  "pooled_dense/kernel": "pooler.weight",
  "pooled_dense/bias": "pooler.bias",
}
_ATTENTION = {
  "query/kernel": "attention.query.weight",
  "query/bias": "attention.query.bias",
  "key/kernel": "attention.key.weight",
  "key/bias": "attention.key.bias",
  "value/kernel": "attention.value.weight",
  "value/bias": "attention.value.bias",
  "attention_output/kernel": "attention.dense.weight",
  "attention_output/bias": "attention.dense.bias",
}
_LAYER = {
  **{f"self_attention_layer/{path}": n for path, n in _ATTENTION.items()},
  "self_attention_layer_norm/gamma": "attention.LayerNorm.weight",
  "self_attention_layer_norm/beta": "attention.LayerNorm.bias",
  "feedforward_intermediate_dense/kernel": "ffn.weight",
  "feedforward_intermediate_dense/bias": "ffn.bias",
  "feedforward_output_dense/kernel": "ffn_output.weight",
  "feedforward_output_dense/bias": "ffn_output.bias",
  "feedforward_layer_norm/gamma": "full_layer_layer_norm.weight",
  "feedforward_layer_norm/beta": "full_layer_layer_norm.bias",
}


def _weight_names(config):
  layer = "encoder.albert_layer_groups.{}.albert_layers.{}"
  return _WEIGHTS | {
    f"group_{i}_inner_layer_{j}/{path}": f"{layer.format(i, j)}.{name}"
    for i in range(config.num_groups)
    for j in range(config.num_inner_repetitions)
    for path, name in _LAYER.items()
  }


_ORIGINAL_WEIGHTS = {
  "token_embedding/embeddings": "embeddings/word_embeddings",
  "position_embedding/embeddings": "embeddings/position_embeddings",
  "segment_embedding/embeddings": "embeddings/token_type_embeddings",
  "embeddings_layer_norm/gamma": "embeddings/LayerNorm/gamma",
  "embeddings_layer_norm/beta": "embeddings/LayerNorm/beta",
  "embedding_projection/kernel": "encoder/embedding_hidden_mapping_in/kernel",
  "embedding_projection/bias": "encoder/embedding_hidden_mapping_in/bias",
  "pooled_dense/kernel": "pooler/dense/kernel",
  "pooled_dense/bias": "pooler/dense/bias",
}
_ORIGINAL_ATTENTION = {
  "query/kernel": "attention_1/self/query/kernel",
  "query/bias": "attention_1/self/query/bias",
  "key/kernel": "attention_1/self/key/kernel",
  "key/bias": "attention_1/self/key/bias",
  "value/kernel": "attention_1/self/value/kernel",
  "value/bias": "attention_1/self/value/bias",
  "attention_output/kernel": "attention_1/output/dense/kernel",
  "attention_output/bias": "attention_1/output/dense/bias",
}
_ORIGINAL_LAYER = {
  **{
    f"self_attention_layer/{path}": name
    for path, name in _ORIGINAL_ATTENTION.items()
  },
  "self_attention_layer_norm/gamma": "LayerNorm/gamma",
  "self_attention_layer_norm/beta": "LayerNorm/beta",
  "feedforward_intermediate_dense/kernel": "ffn_1/intermediate/dense/kernel",
  "feedforward_intermediate_dense/bias": "ffn_1/intermediate/dense/bias",
  "feedforward_output_dense/kernel": "ffn_1/intermediate/output/dense/kernel",
  "feedforward_output_dense/bias": "ffn_1/intermediate/output/dense/bias",
  "feedforward_layer_norm/gamma": "LayerNorm_1/gamma",
  "feedforward_layer_norm/beta": "LayerNorm_1/beta",
}


def _original_weight_names(config):
  layer = "encoder/transformer/group_{}/inner_group_{}"
  return _ORIGINAL_WEIGHTS | {
    f"group_{i}_inner_layer_{j}/{path}": f"{layer.format(i, j)}/{name}"
    for i in range(config.num_groups)
    for j in range(config.num_inner_repetitions)
    for path, name in _ORIGINAL_LAYER.items()
  }


# Keys of the original's albert_config.json that BERT's does not have.
ORIGINAL_KEYS = "num_hidden_groups", "inner_group_num"
FILES = ArchitectureFiles(
  class_name="Albert",
  prefix="albert.",
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
    "num_groups": "num_hidden_groups",
    "num_inner_repetitions": "inner_group_num",
  },
  weight_names=_weight_names,
  defaults={"vocab_size": 30000},
  values={"position_embedding_type": ("absolute", None)},
  written={"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3},
  # The Chinese models have WordPieces.
  tokens=(SENTENCE_PIECES, WORD_PIECES),
  piece_family="albert",
  piece_file="spiece.model",
  keras_tokenizer=keras_hub.models.AlbertTokenizer,
  original_weight_names=_original_weight_names,
)
