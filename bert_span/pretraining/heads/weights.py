"""The heads of pre-training as files: their names, writing and reading.

  pretraining_heads.safetensors   beside the encoder in a model directory
  cls/predictions/...             in a TensorFlow 1 checkpoint of the original
  cls.predictions....             in a Hugging Face directory

All hold the masked language model's head under the original's names. The head
of the span boundary objective, which the original lacks, is under
cls/span_boundary in the first two.
"""

import os

import safetensors
import tensorflow as tf
from safetensors import numpy as safetensors_numpy

from bert_span.presets import huggingface
from bert_span.storage.atomic_file import write_tensors

HEADS_FILE = "pretraining_heads.safetensors"
_MLM = "cls/predictions/"
_SBO = "cls/span_boundary/"


def head_variables(model):
  """The variables of a PretrainingModel's heads, a dict by their names."""
  head = model.masked_lm_head
  variables = {
    **_transform(f"{_MLM}transform", head.transform),
    f"{_MLM}output_bias": head.output_layer.bias,
  }
  head = model.span_boundary_head
  if head is not None:
    variables |= {
      f"{_SBO}position_embeddings": head.position_embeddings,
      **_transform(f"{_SBO}transform_1", head.transform_1),
      **_transform(f"{_SBO}transform_2", head.transform_2),
      f"{_SBO}output_bias": head.output_layer.bias,
    }
  return variables


def head_tensors(model):
  """The same as a dict of NumPy arrays."""
  variables = head_variables(model)
  return {name: variable.numpy() for name, variable in variables.items()}


def _transform(prefix, layer):
  return {
    f"{prefix}/dense/kernel": layer.dense.kernel,
    f"{prefix}/dense/bias": layer.dense.bias,
    f"{prefix}/LayerNorm/gamma": layer.layer_norm.gamma,
    f"{prefix}/LayerNorm/beta": layer.layer_norm.beta,
  }


def save_heads(model, directory):
  """Writes the heads of a PretrainingModel into a local directory."""
  write_tensors(os.path.join(directory, HEADS_FILE), head_tensors(model))


def read_heads(directory):
  """Reads the heads of a local model directory or Hugging Face directory.

  Returns:
    dict from name, as in `head_variables`, to float32 array; {} if the
    directory has no such head.

  Raises:
    ValueError: a file is damaged.
  """
  path = os.path.join(directory, HEADS_FILE)
  try:
    if os.path.isfile(path):
      return safetensors_numpy.load_file(path)
    path = os.path.join(directory, huggingface.WEIGHTS_FILE)
    if os.path.isfile(path):
      return _read_huggingface_head(path)
  except (OSError, safetensors.SafetensorError) as error:
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
        # torch.nn.Linear keeps [outputs, inputs].
        tensors[name] = tensor.T if name.endswith("/kernel") else tensor
  return tensors


def read_original_heads(checkpoint):
  """Reads the heads of a TensorFlow 1 checkpoint, as `read_heads`."""
  reader = tf.train.load_checkpoint(checkpoint)
  return {
    name: reader.get_tensor(name)
    for name in reader.get_variable_to_shape_map()
    if name.startswith((_MLM, _SBO))
    and not name.endswith(("/adam_m", "/adam_v"))
  }


def huggingface_head_name(name):
  """Hugging Face's name of a weight of the masked language model's head.

  cls/predictions/transform/dense/kernel
    -> cls.predictions.transform.dense.weight
  """
  if name == f"{_MLM}output_bias":
    return "cls.predictions.bias"
  return huggingface.huggingface_name(name)


def is_masked_lm(name):
  """Whether a name belongs to the masked language model's head."""
  return name.startswith(_MLM)


def assign_heads(model, tensors, source):
  """Fills those heads that have stored weights.

  Args:
    model: a PretrainingModel.
    tensors: dict of `read_heads`.
    source: their origin, for messages.

  Returns:
    List of str, the heads filled: "masked language model", "span boundary".
  """
  filled = []
  heads = {_MLM: "masked language model", _SBO: "span boundary"}
  for prefix, head in heads.items():
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
        found = "is missing" if shape is None else f"has shape {list(shape)}"
        raise ValueError(
          f"{source}: {name} {found}, but the model needs "
          f"{list(variable.shape)}. Use weights that belong to this encoder "
          "and vocabulary."
        )
    for name, variable in variables.items():
      variable.assign(tensors[name])
    filled.append(head)
  return filled
