"""DeBERTa-v3's files, whose model_type is deberta-v2.

Source: He et al. 2021, arXiv 2111.09543.
"""

import keras_hub

from bert_span.presets.architectures.architecture_files import ArchitectureFiles
from bert_span.text.vocabulary import SENTENCE_PIECES

_WEIGHTS = {
  "token_embedding/embeddings": "embeddings.word_embeddings.weight",
  "embeddings_layer_norm/gamma": "embeddings.LayerNorm.weight",
  "embeddings_layer_norm/beta": "embeddings.LayerNorm.bias",
  "rel_embedding/rel_embedding": "encoder.rel_embeddings.weight",
  "rel_embedding/rel_embeddings_layer_norm/gamma": "encoder.LayerNorm.weight",
  "rel_embedding/rel_embeddings_layer_norm/beta": "encoder.LayerNorm.bias",
}
_ATTENTION = {
  "query/kernel": "attention.self.query_proj.weight",
  "query/bias": "attention.self.query_proj.bias",
  "key/kernel": "attention.self.key_proj.weight",
  "key/bias": "attention.self.key_proj.bias",
  "value/kernel": "attention.self.value_proj.weight",
  "value/bias": "attention.self.value_proj.bias",
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
  layer = "disentangled_attention_encoder_layer"
  return _WEIGHTS | {
    f"{layer}_{i}/{path}": f"encoder.layer.{i}.{name}"
    for i in range(config.num_layers)
    for path, name in _LAYER.items()
  }


FILES = ArchitectureFiles(
  class_name="DebertaV2",
  prefix="deberta.",
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
    "position_buckets": "position_buckets",
  },
  weight_names=_weight_names,
  defaults={
    "vocab_size": 128100,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-7,
  },
  values={
    "relative_attention": (True,),
    "position_biased_input": (False,),
    "type_vocab_size": (0, None),
    "norm_rel_ebd": ("layer_norm",),
    "share_att_key": (True,),
    "pos_att_type": (*("p2c|c2p", "c2p|p2c", ["p2c", "c2p"], ["c2p", "p2c"]),),
    "max_relative_positions": (-1, None),
    "conv_kernel_size": (0, None),
  },
  written={"pad_token_id": 0},
  tokens=(SENTENCE_PIECES,),
  piece_family="deberta-v2",
  piece_file="spm.model",
  keras_tokenizer=keras_hub.models.DebertaV3Tokenizer,
  padding_rows=1000,  # mDeBERTa has 899.
)
