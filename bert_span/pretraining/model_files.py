"""A pre-trained model as files, encoder and heads.

  model directory   pretraining_heads.safetensors beside the encoder; read by
                    --preset
  TensorFlow 1      bert_model.ckpt and bert_config.json; read by
                    --init_checkpoint and the original
  Hugging Face      model.safetensors, config.json; read by --preset and
                    transformers' BertModel and BertForMaskedLM

The heads have the original's names: cls/predictions/... for the masked language
model, and cls/span_boundary/... for the span boundary objective, which the
original and Hugging Face lack.
"""

import dataclasses
import os

import safetensors
import tensorflow as tf
from safetensors import numpy as safetensors_numpy

from bert_span.presets import huggingface
from bert_span.presets.encoder_weights import original_tensors
from bert_span.presets.model_directory import (
  save_backbone,
  save_tokenizer,
  write_checksums,
)
from bert_span.pretraining.model import PretrainingModel
from bert_span.storage.atomic_file import (
  write_json_atomically,
  write_lines,
  write_tensors,
)
from bert_span.storage.log import log_line

HEADS_FILE = "pretraining_heads.safetensors"
CHECKPOINT_NAME = "bert_model.ckpt"
BERT_CONFIG_FILE = "bert_config.json"
_MLM = "cls/predictions/"
_HEADS = {
  _MLM: "masked language model",
  "cls/span_boundary/": "span boundary",
  "cls/recurring_spans/": "recurring spans",
}


@dataclasses.dataclass(frozen=True)
class PretrainedModelFiles:
  """Writes a pre-trained model into an empty local directory."""

  model: PretrainingModel
  vocabulary: list
  lower_case: bool

  def write_model(self, directory):
    """Writes a model directory for --preset."""
    save_backbone(self.model.backbone, directory)
    save_tokenizer(directory, self.vocabulary, self.lower_case)
    save_heads(self.model, directory)
    write_checksums(directory)

  def write_tf1(self, directory):
    """Writes a TensorFlow 1 checkpoint with the original's names."""
    export_tf1(self.model.backbone, directory, head_tensors(self.model))
    write_lines(os.path.join(directory, "vocab.txt"), self.vocabulary)

  def write_huggingface(self, directory):
    """Writes a BERT directory of transformers."""
    export_huggingface(self.model.backbone, directory, head_tensors(self.model))
    huggingface.save_tokenizer(
      directory, self.model.backbone, self.vocabulary, self.lower_case
    )


def export_tf1(backbone, directory, heads=None):
  """Writes a BertBackbone as the original's checkpoint and configuration.

  `heads` is None or a dict of `head_tensors`, which are added.
  """
  encoder = original_tensors(backbone).items()
  tensors = {f"bert/{name}": tensor for name, tensor in encoder}
  tensors |= heads or {}
  names = sorted(tensors)
  tf.raw_ops.SaveV2(
    prefix=os.path.join(directory, CHECKPOINT_NAME),
    tensor_names=names,
    shape_and_slices=[""] * len(names),
    tensors=[tensors[name] for name in names],
  )
  config = huggingface.config_values(backbone)
  if config["hidden_act"] == "gelu":
    log_line(
      "The original computes GELU in its tanh form; the exact one that this "
      "encoder has is only in the other exports."
    )
  # The original calls the tanh form "gelu".
  config["hidden_act"] = config["hidden_act"].removesuffix("_new")
  write_json_atomically(os.path.join(directory, BERT_CONFIG_FILE), config)


def export_huggingface(backbone, directory, heads=None):
  """Writes a BertBackbone as a Hugging Face directory.

  Of `heads`, a dict of `head_tensors`, the masked language model's head is
  added, the only one Hugging Face has a class for.
  """
  heads = {n: x for n, x in (heads or {}).items() if n.startswith(_MLM)}
  tensors = huggingface.encoder_tensors(backbone) | {
    huggingface_head_name(name): _linear(name, tensor)
    for name, tensor in heads.items()
  }
  path = os.path.join(directory, huggingface.WEIGHTS_FILE)
  # transformers refuses a file without a format.
  write_tensors(path, tensors, {"format": "pt"})
  config = {
    **huggingface.config_values(backbone),
    "architectures": ["BertForMaskedLM" if heads else "BertModel"],
  }
  write_json_atomically(
    os.path.join(directory, huggingface.CONFIG_FILE), config
  )


def _linear(name, tensor):
  """To Hugging Face's layout or back: torch.nn.Linear has [outputs, inputs]."""
  return tensor.T.copy() if name.endswith("/kernel") else tensor


def head_variables(model):
  """The variables of a `PretrainingModel`'s heads, a dict by their names."""
  variables = {}

  def add_transform(prefix, layer):
    variables[f"{prefix}/dense/kernel"] = layer.dense.kernel
    variables[f"{prefix}/dense/bias"] = layer.dense.bias
    variables[f"{prefix}/LayerNorm/gamma"] = layer.layer_norm.gamma
    variables[f"{prefix}/LayerNorm/beta"] = layer.layer_norm.beta

  head = model.masked_lm_head
  if head is not None:
    add_transform("cls/predictions/transform", head.transform)
    variables["cls/predictions/output_bias"] = head.output_layer.bias
  head = model.span_boundary_head
  if head is not None:
    positions = head.position_embeddings
    variables["cls/span_boundary/position_embeddings"] = positions
    add_transform("cls/span_boundary/transform_1", head.transform_1)
    add_transform("cls/span_boundary/transform_2", head.transform_2)
    variables["cls/span_boundary/output_bias"] = head.output_layer.bias
  head = model.question_head
  if head is not None:
    variables["cls/recurring_spans/start_kernel"] = head.start.kernel
    variables["cls/recurring_spans/end_kernel"] = head.end.kernel
  return variables


def head_tensors(model):
  """The same as a dict of NumPy arrays."""
  return {name: value.numpy() for name, value in head_variables(model).items()}


def huggingface_head_name(name):
  """Hugging Face's name of a weight of the masked language model's head.

  cls/predictions/transform/dense/kernel
    -> cls.predictions.transform.dense.weight
  """
  if name == "cls/predictions/output_bias":
    return "cls.predictions.bias"
  return huggingface.huggingface_name(name)


def save_heads(model, directory):
  """Writes the heads of a `PretrainingModel` into a local directory."""
  write_tensors(os.path.join(directory, HEADS_FILE), head_tensors(model))


def read_heads(directory):
  """Reads the heads of a local model directory or Hugging Face directory.

  Returns a dict from name, as in `head_variables`, to float32 array; {} if the
  directory has no such head. Raises ValueError if a file is damaged.
  """
  path = os.path.join(directory, HEADS_FILE)
  try:
    if os.path.isfile(path):
      return safetensors_numpy.load_file(path)
    path = os.path.join(directory, huggingface.WEIGHTS_FILE)
    if os.path.isfile(path):
      return _read_huggingface_head(path)
  except (OSError, TypeError, safetensors.SafetensorError) as error:
    raise ValueError(f"Cannot read {path}: {error}") from error
  return {}


def _read_huggingface_head(path):
  parts = "dense/kernel", "dense/bias", "LayerNorm/gamma", "LayerNorm/beta"
  names = [f"{_MLM}transform/{part}" for part in parts]
  tensors = {}
  with safetensors.safe_open(path, framework="numpy") as file:
    stored_names = set(file.keys())
    for name in (*names, f"{_MLM}output_bias"):
      stored = huggingface_head_name(name)
      if stored in stored_names:
        tensor = file.get_tensor(stored).astype("float32")
        tensors[name] = _linear(name, tensor)
  return tensors


def read_original_heads(checkpoint):
  """Reads the heads of a TensorFlow 1 checkpoint, as `read_heads`."""
  reader = tf.train.load_checkpoint(checkpoint)
  return {
    name: reader.get_tensor(name)
    for name in reader.get_variable_to_shape_map()
    if name.startswith(tuple(_HEADS))
    and not name.endswith(("/adam_m", "/adam_v"))
  }


def assign_heads(model, tensors, source):
  """Fills the heads that have stored weights, a dict of `read_heads`.

  Returns a list of their names, such as "span boundary". The
  `source` of the weights is for messages.
  """
  filled = []
  for prefix, head in _HEADS.items():
    variables = {
      name: variable
      for name, variable in head_variables(model).items()
      if name.startswith(prefix)
    }
    if not variables.keys() & tensors.keys():
      continue
    for name, variable in variables.items():
      shape = tensors[name].shape if name in tensors else None
      if shape != tuple(variable.shape):
        raise ValueError(
          f"{source}: {name} has shape {shape and list(shape)}, but the model "
          f"needs {list(variable.shape)}. Use weights that belong to this "
          "encoder and vocabulary."
        )
    for name, variable in variables.items():
      variable.assign(tensors[name])
    filled.append(head)
  return filled
