"""A pre-trained model as files, encoder and heads.

  model directory   pretraining_heads.safetensors beside the encoder; --preset
  TensorFlow 1      bert_model.ckpt and bert_config.json; --init_checkpoint
  Hugging Face      model.safetensors, config.json; --preset and transformers

The heads have the original's names, cls/predictions/...; it lacks the span
boundary objective.
"""

import os

import tensorflow as tf

from bert_span.modeling.heads import assign_weights
from bert_span.presets import huggingface, model_directory
from bert_span.presets.architectures.architecture_files import files_of
from bert_span.presets.encoder_weights import original_tensors
from bert_span.storage import atomic_file
from bert_span.storage.files import literal_checkpoint
from bert_span.storage.log import log_line
from bert_span.storage.tensor_files import read_tensors, write_tensors

HEADS_FILE = "pretraining_heads.safetensors"
# Names of the weights of a `PredictionTransform`.
_TRANSFORM = ("dense/kernel", "dense/bias", "LayerNorm/gamma", "LayerNorm/beta")
_MLM_NAMES = [
  *(f"cls/predictions/transform/{part}" for part in _TRANSFORM),
  "cls/predictions/output_bias",
]
# The masked language model's weights as Hugging Face calls them.
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
  *(f"cls/span_boundary/transform_1/{part}" for part in _TRANSFORM),
  *(f"cls/span_boundary/transform_2/{part}" for part in _TRANSFORM),
  "cls/span_boundary/output_bias",
]
# A head in messages -> its attribute of the model, and the names of its weights
# in their order.
_HEADS = {
  "masked language model": ("masked_lm_head", _MLM_NAMES),
  "span boundary": ("span_boundary_head", _SBO_NAMES),
}


def write_model(directory, model, vocabulary, lower_case):
  """Writes a `PretrainingModel` into an empty directory, for --preset."""
  model_directory.save_backbone(model.backbone, directory)
  model_directory.save_tokenizer(directory, vocabulary, lower_case)
  write_tensors(os.path.join(directory, HEADS_FILE), head_tensors(model))
  model_directory.write_checksums(directory)


def write_tf1(directory, model, vocabulary, unused_lower_case):
  """Writes a TensorFlow 1 checkpoint with the original's names."""
  export_tf1(model.backbone, directory, head_tensors(model))
  atomic_file.write_lines(os.path.join(directory, "vocab.txt"), vocabulary)


def write_huggingface(directory, model, vocabulary, lower_case):
  """Writes a BERT directory of transformers, which has no other heads."""
  heads = head_tensors(model)
  head = {
    theirs: _linear(name, heads[name])
    for name, theirs in _HUGGINGFACE_NAMES.items()
  }
  huggingface.write_model(directory, model.backbone, head, "BertForMaskedLM")
  huggingface.save_tokenizer(directory, model.backbone, vocabulary, lower_case)


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
  config = huggingface.config_values(backbone)
  if config["hidden_act"] == "gelu":
    log_line(
      "The original computes GELU in its tanh form; this encoder's exact GELU "
      "is in the other exports only."
    )
  # The original calls the tanh form "gelu".
  config["hidden_act"] = config["hidden_act"].removesuffix("_new")
  atomic_file.write_json_atomically(
    os.path.join(directory, "bert_config.json"), config
  )


def _linear(name, tensor):
  """To Hugging Face's layout or back: torch.nn.Linear has [outputs, inputs]."""
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


def read_heads(directory):
  """Returns the `head_tensors` of a local model of ours or Hugging Face's."""
  path = os.path.join(directory, HEADS_FILE)
  if os.path.isfile(path):
    return read_tensors(path)
  names = huggingface.WEIGHTS_FILE, huggingface.INDEX_FILE
  if not any(os.path.isfile(os.path.join(directory, name)) for name in names):
    return {}
  files, _ = huggingface.find_tensors(directory, files_of("bert").prefix)
  return {
    name: _linear(name, huggingface.read_tensor(files, theirs))
    for name, theirs in _HUGGINGFACE_NAMES.items()
    if theirs in files
  }


def read_original_heads(checkpoint):
  """Returns the `head_tensors` of a TensorFlow 1 checkpoint."""
  reader = tf.train.load_checkpoint(literal_checkpoint(checkpoint))
  return {
    name: reader.get_tensor(name)
    for name in (*_MLM_NAMES, *_SBO_NAMES)
    if reader.has_tensor(name)
  }


def assign_heads(model, tensors, source):
  """Fills the heads that have stored weights; their titles in `_HEADS`."""
  filled = []
  for title, variables in head_variables(model).items():
    if variables.keys() & tensors.keys():
      assign_weights(variables, tensors, source)
      filled.append(title)
  return filled
