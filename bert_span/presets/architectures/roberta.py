"""RoBERTa's files. Source: Liu et al. 2019, arXiv 1907.11692."""

import keras_hub

from bert_span.presets.architectures.architecture_files import ArchitectureFiles
from bert_span.text.vocabulary import BYTE_PAIRS, SENTENCE_PIECES, WORD_PIECES

_WEIGHTS = {
  "embeddings/token_embedding/embeddings": "embeddings.word_embeddings.weight",
  "embeddings/position_embedding/embeddings": (
    "embeddings.position_embeddings.weight"
  ),
  "embeddings_layer_norm/gamma": "embeddings.LayerNorm.weight",
  "embeddings_layer_norm/beta": "embeddings.LayerNorm.bias",
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
  return _WEIGHTS | {
    f"transformer_layer_{i}/{path}": f"encoder.layer.{i}.{name}"
    for i in range(config.num_layers)
    for path, name in _LAYER.items()
  }


FILES = ArchitectureFiles(
  class_name="Roberta",
  prefix="roberta.",
  keys={
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "max_sequence_length": "max_position_embeddings",
    "activation": "hidden_act",
    "layer_norm_epsilon": "layer_norm_eps",
  },
  weight_names=_weight_names,
  defaults={"vocab_size": 30522, "hidden_act": "gelu"},
  values={
    "position_embedding_type": ("absolute", None),
    # Positions count from the id of padding.
    "pad_token_id": (1, None),
  },
  # The row of its only token type is added to the positions here.
  written={"type_vocab_size": 1, "bos_token_id": 0, "eos_token_id": 2},
  # KLUE's RoBERTa has WordPieces, vi-mrc's has XLM-R's SentencePieces.
  tokens=(BYTE_PAIRS, WORD_PIECES, SENTENCE_PIECES),
  piece_family="xlm-roberta",
  keras_tokenizer=keras_hub.models.RobertaTokenizer,
  first_position=2,
)
