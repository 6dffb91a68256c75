"""MobileBERT's files. Source: Sun et al. 2020, arXiv 2004.02984."""

from bert_span.modeling.mobilebert import MobileBertTokenizer
from bert_span.presets.architectures.architecture_files import ArchitectureFiles

# The epsilon of LayerNorms that transformers does not take from config.json.
_TRANSFORMERS_EPSILON = 1e-5
_KEEP_FORMAT = "Keep it in the format of this package."

_WEIGHTS = {
  "token_embedding/embeddings": "embeddings.word_embeddings.weight",
  "position_embedding/embeddings": "embeddings.position_embeddings.weight",
  "segment_embedding/embeddings": "embeddings.token_type_embeddings.weight",
  "embeddings_layer_norm/gamma": "embeddings.LayerNorm.weight",
  "embeddings_layer_norm/beta": "embeddings.LayerNorm.bias",
}
_PROJECTION = {
  "embeddings_projection/kernel": "embeddings.embedding_transformation.weight",
  "embeddings_projection/bias": "embeddings.embedding_transformation.bias",
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
}
_BOTTLENECKS = {
  "input_bottleneck_dense/kernel": "bottleneck.input.dense.weight",
  "input_bottleneck_dense/bias": "bottleneck.input.dense.bias",
  "input_bottleneck_layer_norm/gamma": "bottleneck.input.LayerNorm.weight",
  "input_bottleneck_layer_norm/beta": "bottleneck.input.LayerNorm.bias",
  "output_bottleneck_dense/kernel": "output.bottleneck.dense.weight",
  "output_bottleneck_dense/bias": "output.bottleneck.dense.bias",
  "output_bottleneck_layer_norm/gamma": "output.bottleneck.LayerNorm.weight",
  "output_bottleneck_layer_norm/beta": "output.bottleneck.LayerNorm.bias",
}
_SHARED_BOTTLENECK = {
  "dense/kernel": "dense.weight",
  "dense/bias": "dense.bias",
  "layer_norm/gamma": "LayerNorm.weight",
  "layer_norm/beta": "LayerNorm.bias",
}
# Names in the last feed-forward network; the others begin with ffn.0 and so on.
_FEEDFORWARD = {
  "intermediate_dense/kernel": "intermediate.dense.weight",
  "intermediate_dense/bias": "intermediate.dense.bias",
  "output_dense/kernel": "output.dense.weight",
  "output_dense/bias": "output.dense.bias",
  "layer_norm/gamma": "output.LayerNorm.weight",
  "layer_norm/beta": "output.LayerNorm.bias",
}


def _weight_names(config):
  weights, layer = dict(_WEIGHTS), dict(_LAYER)
  if _has_projection(config):
    weights |= _PROJECTION
  if config.use_bottleneck:
    layer |= _BOTTLENECKS
  if _has_shared_bottleneck(config):
    for path, name in _SHARED_BOTTLENECK.items():
      layer[f"attention_bottleneck_{path}"] = f"bottleneck.attention.{name}"
  last = config.num_feedforward_networks - 1
  for i in range(last + 1):
    network = "" if i == last else f"ffn.{i}."
    for path, name in _FEEDFORWARD.items():
      layer[f"feedforward_{i}_{path}"] = network + name
  return weights | {
    f"transformer_layer_{i}/{path}": f"encoder.layer.{i}.{name}"
    for i in range(config.num_layers)
    for path, name in layer.items()
  }


# With no_norm, LayerNorm is FakeLayerNorm: google-research/mobilebert,
# modeling.py, transformer_model.
_ORIGINAL_WEIGHTS = {
  "token_embedding/embeddings": "embeddings/word_embeddings",
  "position_embedding/embeddings": "embeddings/position_embeddings",
  "segment_embedding/embeddings": "embeddings/token_type_embeddings",
  "embeddings_layer_norm/gamma": "embeddings/{norm}/gamma",
  "embeddings_layer_norm/beta": "embeddings/{norm}/beta",
}
_ORIGINAL_PROJECTION = {
  "embeddings_projection/kernel": "embeddings/embedding_transformation/kernel",
  "embeddings_projection/bias": "embeddings/embedding_transformation/bias",
}
_ORIGINAL_ATTENTION = {
  "query/kernel": "attention/self/query/kernel",
  "query/bias": "attention/self/query/bias",
  "key/kernel": "attention/self/key/kernel",
  "key/bias": "attention/self/key/bias",
  "value/kernel": "attention/self/value/kernel",
  "value/bias": "attention/self/value/bias",
  "attention_output/kernel": "attention/output/dense/kernel",
  "attention_output/bias": "attention/output/dense/bias",
}
_ORIGINAL_LAYER = {
  **{
    f"self_attention_layer/{path}": name
    for path, name in _ORIGINAL_ATTENTION.items()
  },
  "self_attention_layer_norm/gamma": "attention/output/{norm}/gamma",
  "self_attention_layer_norm/beta": "attention/output/{norm}/beta",
}
_ORIGINAL_BOTTLENECKS = {
  "input_bottleneck_dense/kernel": "bottleneck/input/dense/kernel",
  "input_bottleneck_dense/bias": "bottleneck/input/dense/bias",
  "input_bottleneck_layer_norm/gamma": "bottleneck/input/{norm}/gamma",
  "input_bottleneck_layer_norm/beta": "bottleneck/input/{norm}/beta",
  "output_bottleneck_dense/kernel": "output/bottleneck/dense/kernel",
  "output_bottleneck_dense/bias": "output/bottleneck/dense/bias",
  "output_bottleneck_layer_norm/gamma": "output/bottleneck/{norm}/gamma",
  "output_bottleneck_layer_norm/beta": "output/bottleneck/{norm}/beta",
}
_ORIGINAL_SHARED_BOTTLENECK = {
  "dense/kernel": "dense/kernel",
  "dense/bias": "dense/bias",
  "layer_norm/gamma": "{norm}/gamma",
  "layer_norm/beta": "{norm}/beta",
}
_ORIGINAL_FEEDFORWARD = {
  "intermediate_dense/kernel": "intermediate/dense/kernel",
  "intermediate_dense/bias": "intermediate/dense/bias",
  "output_dense/kernel": "output/dense/kernel",
  "output_dense/bias": "output/dense/bias",
  "layer_norm/gamma": "output/{norm}/gamma",
  "layer_norm/beta": "output/{norm}/beta",
}


def _original_weight_names(config):
  weights, layer = dict(_ORIGINAL_WEIGHTS), dict(_ORIGINAL_LAYER)
  if _has_projection(config):
    weights |= _ORIGINAL_PROJECTION
  if config.use_bottleneck:
    layer |= _ORIGINAL_BOTTLENECKS
  if _has_shared_bottleneck(config):
    for path, name in _ORIGINAL_SHARED_BOTTLENECK.items():
      layer[f"attention_bottleneck_{path}"] = f"bottleneck/attention/{name}"
  last = config.num_feedforward_networks - 1
  for i in range(last + 1):
    network = "" if i == last else f"ffn_layer_{i}/"
    for path, name in _ORIGINAL_FEEDFORWARD.items():
      layer[f"feedforward_{i}_{path}"] = network + name
  weights |= {
    f"transformer_layer_{i}/{path}": f"encoder/layer_{i}/{name}"
    for i in range(config.num_layers)
    for path, name in layer.items()
  }
  is_no_norm = config.normalization_type == "no_norm"
  norm = "FakeLayerNorm" if is_no_norm else "LayerNorm"
  return {path: name.format(norm=norm) for path, name in weights.items()}


def _has_projection(config):
  width = config.embedding_dim or config.hidden_dim
  return config.trigram_input or width != config.hidden_dim


def _has_shared_bottleneck(config):
  is_own = config.use_bottleneck and not config.use_bottleneck_attention
  return is_own and config.key_query_shared_bottleneck


def _check_transformers(config):
  """Refuses an `EncoderConfig` that transformers' class cannot compute."""
  is_alone = not (
    config.use_bottleneck_attention or config.key_query_shared_bottleneck
  )
  if config.inner_dim != config.hidden_dim and is_alone:
    raise ValueError(
      "transformers has no MobileBERT whose queries are computed from "
      f"{config.hidden_dim} numbers at a width of {config.inner_dim}, without "
      "key_query_shared_bottleneck or use_bottleneck_attention. "
      f"{_KEEP_FORMAT}"
    )
  epsilon = config.outer_norm_epsilon or config.layer_norm_epsilon
  is_layer_norm = config.normalization_type == "layer_norm"
  if is_layer_norm and epsilon != _TRANSFORMERS_EPSILON:
    raise ValueError(
      "transformers' MobileBERT with layer_norm has an epsilon of "
      f"{_TRANSFORMERS_EPSILON} after the embeddings and the last feed-forward "
      f"network. Received: {epsilon}. {_KEEP_FORMAT}"
    )


# Keys of the original's bert_config.json that BERT's does not have.
ORIGINAL_KEYS = (
  *("trigram_input", "use_bottleneck", "intra_bottleneck_size"),
  *("use_bottleneck_attention", "key_query_shared_bottleneck"),
  *("num_feedforward_networks", "normalization_type"),
)
FILES = ArchitectureFiles(
  class_name="MobileBert",
  prefix="mobilebert.",
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
    **{name: name for name in ORIGINAL_KEYS},
  },
  weight_names=_weight_names,
  defaults={
    "vocab_size": 30522,
    "hidden_size": 512,
    "num_hidden_layers": 24,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "hidden_act": "relu",
    "hidden_dropout_prob": 0.0,
    "type_vocab_size": 2,
    "embedding_size": 128,
    "trigram_input": True,
    "use_bottleneck": True,
    "intra_bottleneck_size": 128,
    "key_query_shared_bottleneck": True,
    "num_feedforward_networks": 4,
    "normalization_type": "no_norm",
    "outer_norm_epsilon": _TRANSFORMERS_EPSILON,  # no key
  },
  values={"position_embedding_type": ("absolute", None)},
  written={"pad_token_id": 0},
  keras_tokenizer=MobileBertTokenizer,
  original_weight_names=_original_weight_names,
  check_transformers=_check_transformers,
)
