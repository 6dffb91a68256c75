"""A pre-trained model as files, encoder and heads.

  model directory   pretraining_heads.safetensors beside the encoder; read by
                    --preset
  TensorFlow 1      bert_model.ckpt and bert_config.json; read by
                    --init_checkpoint and the original
  Hugging Face      model.safetensors, config.json; read by --preset and
                    transformers' BertModel and BertForMaskedLM

The heads have the original's names, cls/predictions/...; it lacks those of the
span boundary objective and of recurring spans.
"""

import dataclasses
import os

import tensorflow as tf

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


def _transform(prefix):
  """The names of the weights of a `PredictionTransform`."""
  parts = "dense/kernel", "dense/bias", "LayerNorm/gamma", "LayerNorm/beta"
  return [f"{prefix}/{part}" for part in parts]


_MLM_NAMES = [
  *_transform("cls/predictions/transform"),
  "cls/predictions/output_bias",
]
# A head in messages -> its attribute of the model, and the names of its weights
# in their order.
_HEADS = {
  "masked language model": ("masked_lm_head", _MLM_NAMES),
  "span boundary": (
    "span_boundary_head",
    [
      "cls/span_boundary/position_embeddings",
      *_transform("cls/span_boundary/transform_1"),
      *_transform("cls/span_boundary/transform_2"),
      "cls/span_boundary/output_bias",
    ],
  ),
  "recurring spans": (
    "question_head",
    ["cls/recurring_spans/start_kernel", "cls/recurring_spans/end_kernel"],
  ),
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


def export_tf1(backbone, directory, heads):
  """Writes a BertBackbone and `head_tensors` as the original's checkpoint."""
  encoder = original_tensors(backbone).items()
  tensors = {f"bert/{name}": tensor for name, tensor in encoder}
  tensors |= heads
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


def export_huggingface(backbone, directory, heads):
  """Writes a BertBackbone and the masked language model's head of some tensors.

  Hugging Face has no class for the other heads.
  """
  names = [name for name in _MLM_NAMES if name in heads]
  tensors = huggingface.encoder_tensors(backbone) | {
    huggingface_head_name(name): _linear(name, heads[name]) for name in names
  }
  path = os.path.join(directory, huggingface.WEIGHTS_FILE)
  # transformers refuses a file without a format.
  write_tensors(path, tensors, {"format": "pt"})
  config = {
    **huggingface.config_values(backbone),
    "architectures": ["BertForMaskedLM" if names else "BertModel"],
  }
  write_json_atomically(
    os.path.join(directory, huggingface.CONFIG_FILE), config
  )


def _linear(name, tensor):
  """To Hugging Face's layout or back: torch.nn.Linear has [outputs, inputs]."""
  return tensor.T.copy() if name.endswith("/kernel") else tensor


def head_variables(model):
  """The variables of each head of a `PretrainingModel` by their names."""
  return {
    title: dict(zip(names, getattr(model, attribute).weights, strict=True))
    for title, (attribute, names) in _HEADS.items()
    if getattr(model, attribute) is not None
  }


def head_tensors(model):
  """The weights of all heads as a dict of NumPy arrays."""
  heads = head_variables(model).values()
  return {n: value.numpy() for head in heads for n, value in head.items()}


def huggingface_head_name(name):
  """Hugging Face's name of a weight of the masked language model's head."""
  if name == "cls/predictions/output_bias":
    return "cls.predictions.bias"
  return huggingface.huggingface_name(name)


def save_heads(model, directory):
  """Writes the heads of a `PretrainingModel` into a local directory."""
  write_tensors(os.path.join(directory, HEADS_FILE), head_tensors(model))


def read_heads(directory):
  """The `head_tensors` of a local model directory or Hugging Face directory."""
  path = os.path.join(directory, HEADS_FILE)
  if os.path.isfile(path):
    return huggingface.read_tensors(path)
  path = os.path.join(directory, huggingface.WEIGHTS_FILE)
  if not os.path.isfile(path):
    return {}
  names = {huggingface_head_name(name): name for name in _MLM_NAMES}
  with huggingface.open_safetensors(path) as file:
    stored = names.keys() & set(file.keys())
  tensors = huggingface.read_tensors(path, stored)
  return {names[n]: _linear(names[n], x) for n, x in tensors.items()}


def read_original_heads(checkpoint):
  """The `head_tensors` of a TensorFlow 1 checkpoint."""
  reader = tf.train.load_checkpoint(checkpoint)
  return {
    name: reader.get_tensor(name)
    for _, names in _HEADS.values()
    for name in names
    if reader.has_tensor(name)
  }


def assign_heads(model, tensors, source):
  """Fills the heads that have stored weights; their titles in `_HEADS`."""
  filled = []
  for title, variables in head_variables(model).items():
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
    filled.append(title)
  return filled
