"""Which stored tensor belongs to which weight of a BertBackbone.

Every format here holds the same matrices under its own names:

  BertBackbone   transformer_layer_0/self_attention_layer/query/kernel
  original       bert/encoder/layer_0/attention/self/query/kernel
  Hugging Face   encoder.layer.0.attention.self.query.weight  (transposed)

The table gives the original's name for each weight; huggingface.py derives
its names from the original's by rule.
"""

import numpy as np
from absl import logging

_EMBEDDINGS = {
  "token_embedding/embeddings": "embeddings/word_embeddings",
  "position_embedding/embeddings": "embeddings/position_embeddings",
  "segment_embedding/embeddings": "embeddings/token_type_embeddings",
  "embeddings_layer_norm": "embeddings/LayerNorm",
}
_LAYER = {
  "self_attention_layer/query": "attention/self/query",
  "self_attention_layer/key": "attention/self/key",
  "self_attention_layer/value": "attention/self/value",
  "self_attention_layer/attention_output": "attention/output/dense",
  "self_attention_layer_norm": "attention/output/LayerNorm",
  "feedforward_intermediate_dense": "intermediate/dense",
  "feedforward_output_dense": "output/dense",
  "feedforward_layer_norm": "output/LayerNorm",
}
POOLER = {
  "pooled_dense/kernel": "pooler/dense/kernel",
  "pooled_dense/bias": "pooler/dense/bias",
}


def original_names(num_layers):
  """The original's name of every encoder weight.

  Args:
    num_layers: transformer layers.

  Returns:
    dict from the weight's path in BertBackbone to its name in the original,
    without the leading "bert/".
  """
  prefixes = dict(_EMBEDDINGS)
  for i in range(num_layers):
    for ours, theirs in _LAYER.items():
      prefixes[f"transformer_layer_{i}/{ours}"] = f"encoder/layer_{i}/{theirs}"
  names = {}
  for ours, theirs in prefixes.items():
    for ending in _endings(ours):
      names[ours + ending] = theirs + ending
  return {**names, **POOLER}


def _endings(path):
  if path.endswith("/embeddings"):
    return ("",)
  if path.endswith("layer_norm"):
    return ("/gamma", "/beta")
  return ("/kernel", "/bias")


def assign_encoder_weights(backbone, read_tensor, names, source):
  """Fills an encoder from stored tensors.

  The original keeps an attention matrix as [hidden, hidden], with the heads'
  columns (rows, for the output) side by side; BertBackbone keeps
  [hidden, heads, size] and [heads, size, hidden]. Both have the same order in
  memory, so a plain reshape goes from one to the other.

  Args:
    backbone: the BertBackbone to fill.
    read_tensor: function from a name to its np.ndarray in the original's
      layout (kernels [inputs, outputs]).
    names: dict from the path of each weight to fill to its stored name.
    source: the file's name, for messages.

  Raises:
    ValueError: a tensor's shape is not that of its weight; nothing is
      assigned then to this weight or to those after it.
  """
  weights = {weight.path: weight for weight in backbone.weights}
  for path, name in names.items():
    weight = weights[path]
    tensor = np.asarray(read_tensor(name), dtype=np.float32)
    expected = _stored_shape(path, tuple(weight.shape), backbone.hidden_dim)
    if tensor.shape != expected:
      raise ValueError(
        f"{source}: {name} has shape {list(tensor.shape)}, but the "
        f"configuration asks for {list(expected)}. Use the configuration "
        "file that came with these weights."
      )
    weight.assign(tensor.reshape(weight.shape))


def _stored_shape(path, shape, hidden_dim):
  """The shape of a weight in the original: attention heads side by side."""
  if "/self_attention_layer/" not in path:
    return shape
  return (hidden_dim,) * (2 if path.endswith("/kernel") else 1)


def missing_names_error(source, missing, present):
  """The ValueError for weights that a file ought to hold and does not.

  Args:
    source: the file's name.
    missing: names that were looked for and not found.
    present: names that the file holds.
  """
  some = "is not there" if len(missing) == 1 else "are not there"
  return ValueError(
    f"{source} does not hold the encoder that the configuration describes: "
    f"{_abridged(missing)} {some}. It holds {_abridged(sorted(present))}. "
    "Use a BERT checkpoint and the configuration file that came with it."
  )


def _abridged(names, most=5):
  """A list in words, cut to its first few entries."""
  text = ", ".join(names[:most]) or "no tensors"
  return f"{text} and {len(names) - most} more" if len(names) > most else text


def report_missing_pooler(names, source):
  """Says once that a source has no pooler, which SQuAD does not use."""
  if not POOLER.keys() <= names.keys():
    logging.info(
      "%s has no pooler; it gets random weights. Span extraction does not "
      "use it.",
      source,
    )
