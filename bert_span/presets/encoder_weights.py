"""What the sources of an encoder share: its result, and the weights' names.

Every format holds the same matrices under its own names:

  BertBackbone   transformer_layer_0/self_attention_layer/query/kernel
  original       bert/encoder/layer_0/attention/self/query/kernel
  Hugging Face   encoder.layer.0.attention.self.query.weight  (transposed)

The tables give the original's names. huggingface.py derives its names by rule.
"""

import dataclasses

import keras_hub
import numpy as np

from bert_span.storage.log import log_line

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
_POOLER = {
  "pooled_dense/kernel": "pooler/dense/kernel",
  "pooled_dense/bias": "pooler/dense/bias",
}


@dataclasses.dataclass(frozen=True)
class LoadedEncoder:
  """An encoder and what its source says about head and text.

  Attributes:
    backbone: the encoder, with the source's weights.
    head_weights: the trained heads, as a dict from the name of a head's layer
      ("span_head", "tag_head") to a dict from the names of its weights
      ("kernel", "bias") to float32 arrays.
    vocabulary_path: the vocabulary file beside the weights, or None.
    lower_case: whether text was lower-cased in training, or None if the
      source does not say.
    description: the source in words, for the log.
  """

  backbone: keras_hub.models.BertBackbone
  head_weights: dict[str, dict[str, np.ndarray]] = dataclasses.field(
    default_factory=dict
  )
  vocabulary_path: str | None = None
  lower_case: bool | None = None
  description: str = ""


def original_names(num_layers):
  """The original's name, without "bert/", of every weight by its Keras path."""
  prefixes = dict(_EMBEDDINGS)
  for i in range(num_layers):
    for ours, theirs in _LAYER.items():
      prefixes[f"transformer_layer_{i}/{ours}"] = f"encoder/layer_{i}/{theirs}"
  names = {}
  for ours, theirs in prefixes.items():
    endings = ("/kernel", "/bias")
    if ours.endswith("/embeddings"):
      endings = ("",)
    elif ours.endswith("layer_norm"):
      endings = ("/gamma", "/beta")
    for ending in endings:
      names[ours + ending] = theirs + ending
  return {**names, **_POOLER}


def original_tensors(backbone):
  """The weights as float32 arrays in the original's layout, by its names."""
  weights = {weight.path: weight for weight in backbone.weights}
  return {
    name: weights[path]
    .numpy()
    .astype("float32")
    .reshape(_original_shape(weights[path], backbone.hidden_dim))
    for path, name in original_names(backbone.num_layers).items()
  }


def fill_encoder(backbone, stored, read_tensor, possible_names, source):
  """Fills an encoder from stored tensors; ValueError if they do not fit.

  The pooler may be missing, because span extraction does not use it.

  Args:
    backbone: the BertBackbone to fill.
    stored: collection of the stored tensors' names.
    read_tensor: function from a stored name to its np.ndarray in the original's
      layout (kernels [inputs, outputs]).
    possible_names: function from the original's name of a weight to the names
      that it may be stored under.
    source: the file's name, for messages.
  """
  names, missing = {}, []
  for path, original in original_names(backbone.num_layers).items():
    possible = possible_names(original)
    found = next((name for name in possible if name in stored), None)
    if found is not None:
      names[path] = found
    elif path not in _POOLER:
      missing.append(possible[0])
  if missing:
    raise ValueError(
      f"{source} does not hold the encoder that the configuration describes: "
      f"it lacks {_abridged(missing)}. It holds {_abridged(sorted(stored))}. "
      "Use a BERT checkpoint and the configuration file that came with it."
    )
  if not _POOLER.keys() <= names.keys():
    log_line(
      f"{source} has no pooler, so it gets random weights. Span extraction "
      "does not use it."
    )
  weights = {weight.path: weight for weight in backbone.weights}
  for path, name in names.items():
    tensor = np.asarray(read_tensor(name), dtype=np.float32)
    expected = _original_shape(weights[path], backbone.hidden_dim)
    if tensor.shape != expected:
      raise ValueError(
        f"{source}: {name} has shape {list(tensor.shape)}, but the "
        f"configuration asks for {list(expected)}. Use the configuration "
        "file that came with these weights."
      )
    weights[path].assign(tensor.reshape(weights[path].shape))


def _original_shape(weight, hidden_dim):
  """The shape of a weight in the original.

  The original keeps an attention matrix as [hidden, hidden], with the heads'
  columns (rows, for the output) side by side. BertBackbone keeps [hidden,
  heads, size] and [heads, size, hidden]. The order in memory is the same, so a
  plain reshape converts one to the other.
  """
  if "/self_attention_layer/" not in weight.path:
    return tuple(weight.shape)
  return (hidden_dim,) * (2 if weight.path.endswith("/kernel") else 1)


def _abridged(names, most=5):
  """A list in words, cut to its first few entries."""
  text = ", ".join(names[:most]) or "no tensors"
  return f"{text} and {len(names) - most} more" if len(names) > most else text
