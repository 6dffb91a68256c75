"""Writes and reads a pre-trained model, encoder and heads.

  model directory   pretraining_heads.safetensors beside the encoder: a preset
  TensorFlow 1      bert_model.ckpt and bert_config.json: an init_checkpoint
  Hugging Face      model.safetensors, config.json: a preset, and transformers

The heads have the original's names, cls/predictions/...; the original lacks
the span boundary objective.
"""

import os

import tensorflow as tf

from bert_span.modeling.heads import assign_weights
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.directory_tokenizer import write_directory_tokenizer
from bert_span.presets.directory_weights import save_backbone
from bert_span.presets.encoder_weights import (
  CheckpointReader,
  find_checkpoint,
  original_tensors,
)
from bert_span.presets.huggingface import (
  WEIGHTS_FILES,
  find_tensors,
  read_tensor,
)
from bert_span.presets.huggingface_tokenizer import write_huggingface_tokenizer
from bert_span.presets.huggingface_writer import config_values, write_model
from bert_span.presets.model_directory import write_checksums
from bert_span.storage import atomic_file
from bert_span.storage.log import log_line
from bert_span.storage.tensor_files import read_tensors, write_tensors

HEADS_FILE = "pretraining_heads.safetensors"
# Names of the weights of a `PredictionTransform`.
_TRANSFORM = ("dense/kernel", "dense/bias", "LayerNorm/gamma", "LayerNorm/beta")
_MLM_NAMES = [
  *(f"cls/predictions/transform/{name}" for name in _TRANSFORM),
  "cls/predictions/output_bias",
]
# The masked language model's weights -> Hugging Face's names.
_HUGGINGFACE_NAMES = {
  "cls/predictions/transform/dense/kernel": (
    "cls.predictions.transform.dense.weight"
  ),
  "cls/predictions/transform/dense/bias": (
    "cls.predictions.transform.dense.bias"
  ),
  "cls/predictions/transform/LayerNorm/gamma": (
    "cls.predictions.transform.LayerNorm.weight"
  ),
  "cls/predictions/transform/LayerNorm/beta": (
    "cls.predictions.transform.LayerNorm.bias"
  ),
  "cls/predictions/output_bias": "cls.predictions.bias",
}
_SBO_NAMES = [
  "cls/span_boundary/position_embeddings",
  *(f"cls/span_boundary/transform_1/{name}" for name in _TRANSFORM),
  *(f"cls/span_boundary/transform_2/{name}" for name in _TRANSFORM),
  "cls/span_boundary/output_bias",
]
# A head's title -> the model's attribute, and the names of the head's weights
# in their order.
_HEADS = {
  "masked language model": ("masked_lm_head", _MLM_NAMES),
  "span boundary": ("span_boundary_head", _SBO_NAMES),
}


def write_preset(directory, model, vocabulary, lower_case):
  """Writes a `PretrainingModel` into an empty directory, as a preset."""
  save_backbone(model.backbone, directory)
  write_directory_tokenizer(directory, vocabulary, lower_case)
  write_tensors(os.path.join(directory, HEADS_FILE), head_tensors(model))
  write_checksums(directory)


def write_tf1(directory, model, vocabulary, unused_lower_case):
  """Writes a TensorFlow 1 checkpoint with the original's names."""
  export_tf1(model.backbone, directory, head_tensors(model))
  atomic_file.write_lines(os.path.join(directory, "vocab.txt"), vocabulary)


def write_huggingface(directory, model, vocabulary, lower_case):
  """Writes a BERT directory of transformers, with its one head."""
  heads = head_tensors(model)
  head = {
    theirs: _linear(name, heads[name])
    for name, theirs in _HUGGINGFACE_NAMES.items()
  }
  write_model(directory, model.backbone, head, "BertForMaskedLM")
  write_huggingface_tokenizer(directory, model.backbone, vocabulary, lower_case)


def export_tf1(backbone, directory, heads):
  """Writes a BertBackbone and `head_tensors` as the original's checkpoint."""
  encoder = original_tensors(backbone).items()
  tensors = heads | {f"bert/{name}": tensor for name, tensor in encoder}
  names = sorted(tensors)
  tf.raw_ops.SaveV2(
    prefix=os.path.join(directory, "bert_model.ckpt"),
    tensor_names=names,
    shape_and_slices=[""] * len(names),
    tensors=[tensors[name] for name in names],
  )
  config = config_values(backbone)
  if config["hidden_act"] == "gelu":
    log_line(
      "The original computes GELU in its tanh form; only the other exports "
      "have this encoder's exact GELU."
    )
  # The original calls the tanh form "gelu".
  config["hidden_act"] = config["hidden_act"].removesuffix("_new")
  atomic_file.write_json_atomically(
    os.path.join(directory, "bert_config.json"), config
  )


def _linear(name, tensor):
  """Transposes kernels: torch.nn.Linear has [outputs, inputs]."""
  return tensor.T.copy() if name.endswith("/kernel") else tensor


def head_variables(model):
  """Returns the variables of each head by title and name."""
  return {
    title: dict(zip(names, getattr(model, attribute).weights, strict=True))
    for title, (attribute, names) in _HEADS.items()
    if getattr(model, attribute) is not None
  }


def head_tensors(model):
  """Returns the weights of all heads as a dict of NumPy arrays."""
  heads = head_variables(model).values()
  return {n: value.numpy() for head in heads for n, value in head.items()}


def read_pretraining_heads(directory):
  """Reads the `head_tensors` of a local directory that is a preset."""
  path = os.path.join(directory, HEADS_FILE)
  if os.path.isfile(path):
    return read_tensors(path)
  if {*os.listdir(directory)}.isdisjoint(WEIGHTS_FILES):
    checkpoint = find_checkpoint(directory, directory)
    return read_original_heads(checkpoint) if checkpoint else {}
  tensors, _ = find_tensors(directory, files_of("bert").prefix)
  return {
    name: _linear(name, read_tensor(tensors, stored_name))
    for name, stored_name in _HUGGINGFACE_NAMES.items()
    if stored_name in tensors
  }


def read_original_heads(checkpoint):
  """Reads the `head_tensors` of a TensorFlow 1 checkpoint."""
  stored = CheckpointReader(checkpoint)
  names = (*_MLM_NAMES, *_SBO_NAMES)
  return {name: stored.read(name) for name in names if name in stored.shapes}


def assign_heads(model, tensors, source):
  """Fills the heads that have stored weights; returns their titles."""
  filled = []
  for title, variables in head_variables(model).items():
    if variables.keys() & tensors.keys():
      assign_weights(variables, tensors, source)
      filled.append(title)
  return filled
