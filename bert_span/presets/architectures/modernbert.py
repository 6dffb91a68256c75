"""ModernBERT's files. Source: Warner et al. 2024, arXiv 2412.13663."""

from bert_span.options.messages import shortened
from bert_span.presets.architectures.architecture_files import ArchitectureFiles
from bert_span.text.vocabulary import MODERNBERT_PAIRS

_WEIGHTS = {
  "token_embedding/embeddings": "embeddings.tok_embeddings.weight",
  "embeddings_layer_norm/gamma": "embeddings.norm.weight",
  "final_layer_norm/gamma": "final_norm.weight",
}
_LAYER = {
  "self_attention_layer/query/kernel": "attn.Wqkv.weight#0/3",
  "self_attention_layer/key/kernel": "attn.Wqkv.weight#1/3",
  "self_attention_layer/value/kernel": "attn.Wqkv.weight#2/3",
  "self_attention_layer/attention_output/kernel": "attn.Wo.weight",
  "self_attention_layer_norm/gamma": "attn_norm.weight",
  "feedforward_layer_norm/gamma": "mlp_norm.weight",
  "feedforward_intermediate_dense/kernel": "mlp.Wi.weight#0/2",
  "feedforward_gate_dense/kernel": "mlp.Wi.weight#1/2",
  "feedforward_output_dense/kernel": "mlp.Wo.weight",
}


def _weight_names(config):
  weights = _WEIGHTS | {
    f"transformer_layer_{i}/{path}": f"layers.{i}.{name}"
    for i in range(config.num_layers)
    for path, name in _LAYER.items()
  }
  # The first layer's inputs are normalized already.
  del weights["transformer_layer_0/self_attention_layer_norm/gamma"]
  return weights


_THETAS = {
  "full_attention": "global_rope_theta",
  "sliding_attention": "local_rope_theta",
}


def _older_values(values, path):
  """Renames keys of transformers 5 to those of transformers 4."""
  values = dict(values)
  bases = values.get("rope_parameters")
  for layer_type, key in _THETAS.items() if bases else ():
    base = bases.get(layer_type) if isinstance(bases, dict) else None
    if not isinstance(base, dict) or base.get("rope_type") != "default":
      raise ValueError(
        f"{path}: rope_parameters must have {layer_type} with the rope_type "
        f"default. Received: {shortened(bases)}. Use another model."
      )
    values[key] = base.get("rope_theta")
  layer_types = values.get("layer_types")
  if layer_types:
    num_layers = len(layer_types)
    # The step from the first layer to the next one of its type.
    step = next(
      (i for i, x in enumerate(layer_types) if i and x == layer_types[0]),
      num_layers,
    )
    full, sliding = _THETAS
    expected = [sliding if i % step else full for i in range(num_layers)]
    if layer_types != expected:
      raise ValueError(
        f"{path}: layer_types must have {full} in every n-th layer, the first "
        f"one included. Received: {shortened(layer_types)}. Use another model."
      )
    values["global_attn_every_n_layers"] = step
  return values


FILES = ArchitectureFiles(
  class_name="ModernBert",
  prefix="model.",
  keys={
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
    "dropout": "mlp_dropout",
    "attention_dropout": "attention_dropout",
    "embedding_dropout": "embedding_dropout",
    "max_sequence_length": "max_position_embeddings",
    "activation": "hidden_activation",
    "layer_norm_epsilon": "norm_eps",
    "global_attn_every_n_layers": "global_attn_every_n_layers",
    "sliding_window_size": "local_attention",
    "global_rope_max_wavelength": "global_rope_theta",
    "local_rope_max_wavelength": "local_rope_theta",
  },
  weight_names=_weight_names,
  head={
    "kernel": "classifier.weight",
    "bias": "classifier.bias",
    "transform_kernel": "head.dense.weight",
    "transform_gamma": "head.norm.weight",
  },
  defaults={"vocab_size": 50368},
  values={
    # Positions are rotary, whatever it says; Ettin and mmBERT have the second.
    "position_embedding_type": ("absolute", "sans_pos", None),
    "attention_bias": (False, None),
    "mlp_bias": (False, None),
    "norm_bias": (False, None),
    # Keys of the head.
    "classifier_activation": ("gelu", None),
    "classifier_bias": (False, None),
  },
  # Ids of tokens belong to the vocabulary.
  written=dict.fromkeys(
    f"{name}_token_id" for name in ("pad", "bos", "eos", "cls", "sep")
  ),
  older_values=_older_values,
  tokens=(MODERNBERT_PAIRS,),
)
