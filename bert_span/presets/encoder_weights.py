"""Encoders from stored tensors, and the original's TensorFlow 1 checkpoints."""

import dataclasses
import os

import keras_hub
import numpy as np
import tensorflow as tf

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import (
  build_encoder,
  encoder_config,
  merged_weights,
)
from bert_span.storage.files import literal_checkpoint
from bert_span.storage.log import log_line
from bert_span.text.vocabulary import load_vocabulary, vocabulary_kind

# KerasHub's names of the weights in a layer, and the original's.
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
_HEAD_KERNEL = "cls/squad/output_weights"
_HEAD_BIAS = "cls/squad/output_bias"
_USE_CONFIG = "Use the configuration file that came with these weights."


@dataclasses.dataclass(frozen=True)
class LoadedPreset:
  """An encoder of a source, its trained heads, and what it says about text."""

  backbone: keras_hub.models.Backbone
  # Of trained heads: layer name ("span_head") -> weight name -> float array.
  head_weights: dict[str, dict[str, np.ndarray]] = dataclasses.field(
    default_factory=dict
  )
  vocabulary_path: str | None = None  # beside the weights
  lower_case: bool | None = None  # in training; None if that is not known
  description: str = ""  # the source in words, for the log

  def __post_init__(self):
    tensors = {w.path: w.value for w in self.backbone.weights}
    for head, weights in self.head_weights.items():
      tensors |= {f"{head}/{name}": value for name, value in weights.items()}
    for name, values in tensors.items():
      if not tf.reduce_all(tf.math.is_finite(values)):
        raise ValueError(
          f"{self.description}: the weight {name} holds a number that is "
          "infinite or NaN. Use another copy of the model, or train it again."
        )

  def vocabulary(self, vocab_file=None):
    """Its vocabulary, or that of another file, as `load_vocabulary` has it."""
    path = vocab_file or self.vocabulary_path
    if not path:
      raise ValueError(
        f"{self.description} has no vocabulary (vocab.txt, tokenizer.json or "
        "sentencepiece.bpe.model). "
        "Put it beside the weights, or give its --vocab_file."
      )
    architecture = architecture_of(self.backbone)
    vocabulary = load_vocabulary(path, architecture.name)
    tokens = getattr(vocabulary, "tokens", vocabulary)
    rows = encoder_config(self.backbone).vocabulary_size
    kind = vocabulary_kind(vocabulary)
    if kind != architecture.tokens:
      raise ValueError(
        f"{path} has {kind}, but the encoder, {architecture.name}, was trained "
        f"with {architecture.tokens}. Use the vocabulary that belongs to it."
      )
    if not rows - architecture.padding_rows < len(tokens) <= rows:
      raise ValueError(
        f"{path} has {len(tokens)} {kind}, but the encoder, {architecture.name}"
        f", has {rows} embeddings. Use the vocabulary that belongs to it."
      )
    return vocabulary


def original_weights(config):
  """The original's names and shapes of all weights of an `EncoderConfig`.

  Returns a dict from each weight's path in the backbone to (name without
  "bert/", shape). A plain reshape converts to KerasHub's shapes, for instance
  [hidden, hidden] to [hidden, heads, size].
  """
  architecture = ARCHITECTURES[config.architecture]
  if architecture.original_weights:
    return architecture.original_weights(config)
  hidden, inner = config.hidden_dim, config.intermediate_dim
  width = config.embedding_dim or hidden
  # Inputs and outputs of other than [hidden, hidden].
  sizes = {
    "embeddings_layer_norm": (width, width),
    "embeddings_projection": (width, hidden),
    "feedforward_intermediate_dense": (hidden, inner),
    "feedforward_output_dense": (inner, hidden),
  }
  tables, weights = [("token", "word", config.vocabulary_size)], {}
  layers = {"embeddings_layer_norm": "embeddings/LayerNorm"}
  if architecture.has_distances:
    table = "encoder/rel_embeddings", (2 * config.position_buckets, hidden)
    weights["rel_embedding/rel_embedding"] = table
    layers["rel_embedding/rel_embeddings_layer_norm"] = "encoder/LayerNorm"
  else:
    tables.append(("position", "position", config.max_sequence_length))
  if architecture.has_segments:
    tables.append(("segment", "token_type", config.num_segments))
  for ours, theirs, rows in tables:
    path = f"{architecture.embeddings}{ours}_embedding/embeddings"
    weights[path] = f"embeddings/{theirs}_embeddings", (rows, width)
  if width != hidden:
    layers["embeddings_projection"] = "embeddings_project"
  if architecture.has_pooler:
    layers["pooled_dense"] = "pooler/dense"
  for i in range(config.num_layers):
    for ours, theirs in _LAYER.items():
      layers[f"{architecture.layer}_{i}/{ours}"] = f"encoder/layer_{i}/{theirs}"
  for ours, theirs in layers.items():
    shape = sizes.get(ours.split("/")[-1], (hidden, hidden))
    if ours.endswith("layer_norm"):
      parts = {"gamma": shape[1:], "beta": shape[1:]}
    else:
      parts = {"kernel": shape, "bias": shape[1:]}
    for part, shape in parts.items():
      weights[f"{ours}/{part}"] = f"{theirs}/{part}", shape
  return weights


def original_tensors(backbone):
  """The weights as float32 arrays in the original's layout, by its names."""
  weights = {weight.path: value for weight, value in merged_weights(backbone)}
  originals = original_weights(encoder_config(backbone))
  return {
    name: weights[path].astype("float32").reshape(shape)
    for path, (name, shape) in originals.items()
  }


def check_read_back(saved, read, path):
  """Refuses a file that was just written and does not give the weights back.

  Args:
    saved: pairs of weights and the values that were saved.
    read: dict of the values that were read, by the weights' paths or names.
    path: of the file, for the message.
  """
  for weight, value in saved:
    reason = None
    if not np.all(np.isfinite(value)):
      reason = "holds a number that is infinite or NaN: train it again"
    elif not np.array_equal(value, read.get(weight.path)):
      reason = "is read back otherwise than it was written: check the disk"
    if reason:
      raise ValueError(
        f"{os.path.basename(path)} is not written. The weight {weight.path} "
        f"{reason}."
      )


def load_encoder(config, shapes, read_tensor, stored_name, source):
  """Builds the encoder of a config and fills it with stored tensors.

  `shapes` and `read_tensor` give the stored tensors in the original's layout
  (kernels [inputs, outputs]), and `stored_name` the name that a weight of the
  original is stored under. The pooler may be missing.
  """
  found, missing = {}, []
  for path, (name, shape) in original_weights(config).items():
    stored = stored_name(name)
    if stored not in shapes:
      missing.append(stored)
      continue
    found[path] = stored
    if tuple(shapes[stored]) != shape:
      raise ValueError(
        f"{source}: {stored} has shape {list(shapes[stored])}, but the "
        f"configuration asks for {list(shape)}. {_USE_CONFIG}"
      )
  encoder = [name for name in missing if "pooler" not in name]
  if encoder:
    raise ValueError(
      f"{source} lacks {_abridged(encoder)} of the configuration's encoder. It "
      f"holds {_abridged(sorted(shapes))}. {_USE_CONFIG}"
    )
  next_layer = f"encoder/layer_{config.num_layers}"
  if stored_name(f"{next_layer}/attention/self/query/kernel") in shapes:
    raise ValueError(
      f"{source} holds more layers than the {config.num_layers} of the "
      f"configuration. {_USE_CONFIG}"
    )
  if missing:
    log_line(f"{source} has no pooler; it gets random, unused weights.")
  backbone = build_encoder(config)
  weights = {weight.path: weight for weight in backbone.weights}
  for path, stored in found.items():
    tensor = np.asarray(read_tensor(stored), np.float32)
    weights[path].assign(tensor.reshape(weights[path].shape))
  return backbone


def load_tf1_checkpoint(config, checkpoint):
  """Loads a path prefix such as .../bert_model.ckpt as a `LoadedPreset`."""
  for ending in (".index", ".meta", ".data-00000-of-00001"):
    if checkpoint.endswith(ending):
      raise ValueError(
        "init_checkpoint must be the common prefix of a checkpoint's files: "
        f"{checkpoint[: -len(ending)]}. Received: {checkpoint}"
      )
  if checkpoint.endswith((".bin", ".pt", ".pth", ".pkl", ".safetensors")):
    raise ValueError(
      "init_checkpoint must be a TensorFlow 1 checkpoint. Give the directory "
      f"of Hugging Face's files as --preset. Received: {checkpoint}"
    )
  try:
    reader = tf.train.load_checkpoint(literal_checkpoint(checkpoint))
  except (ValueError, RuntimeError, tf.errors.OpError) as error:
    raise ValueError(
      f"Cannot read the checkpoint {checkpoint}: {error} Its files should be "
      f"{checkpoint}.index and {checkpoint}.data-00000-of-00001."
    ) from error
  shapes = reader.get_variable_to_shape_map()
  if "_CHECKPOINTABLE_OBJECT_GRAPH" in shapes:
    raise ValueError(
      f"{checkpoint} is a TensorFlow 2 object checkpoint. Give one of the "
      "original code, with names such as bert/embeddings/word_embeddings."
    )
  head = {}
  if _HEAD_KERNEL in shapes:
    if shapes[_HEAD_KERNEL] != [2, config.hidden_dim]:
      raise ValueError(
        f"{checkpoint}: {_HEAD_KERNEL} must have the shape "
        f"[2, {config.hidden_dim}]. Received: {shapes[_HEAD_KERNEL]}"
      )
    head["kernel"] = reader.get_tensor(_HEAD_KERNEL).T  # [hidden, 2]
    if _HEAD_BIAS in shapes:
      head["bias"] = reader.get_tensor(_HEAD_BIAS)
  tensors = (shapes, reader.get_tensor, lambda name: f"bert/{name}")
  return LoadedPreset(
    load_encoder(config, *tensors, checkpoint),
    {"span_head": head} if head else {},
    description=f"the TensorFlow 1 checkpoint {checkpoint}",
  )


def _abridged(names, most=5):
  """A list in words, cut to its first few entries."""
  text = ", ".join(names[:most]) or "no tensors"
  return f"{text} and {len(names) - most} more" if len(names) > most else text
