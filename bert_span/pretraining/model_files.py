"""A pre-trained model as files: our model directory and two other formats.

TensorFlow 1   bert_model.ckpt.index, bert_model.ckpt.data-..., and
bert_config.json; read by --init_checkpoint and the original
Hugging Face   model.safetensors, config.json; read by --preset and
transformers' BertModel and BertForMaskedLM
"""

import dataclasses
import json
import os

import tensorflow as tf

from bert_span.modeling.encoder import attention_dropout
from bert_span.presets import huggingface
from bert_span.presets.encoder_weights import original_tensors
from bert_span.presets.model_directory import save_tokenizer
from bert_span.pretraining.heads.model import PretrainingModel
from bert_span.pretraining.heads.weights import (
  head_tensors,
  huggingface_head_name,
  is_masked_lm,
  save_heads,
)
from bert_span.storage.atomic_file import (
  write_json_atomically,
  write_tensors,
  write_text_atomically,
)
from bert_span.storage.log import log_line

CHECKPOINT_NAME = "bert_model.ckpt"
BERT_CONFIG_FILE = "bert_config.json"


@dataclasses.dataclass(frozen=True)
class PretrainedModelFiles:
  """Writes a pre-trained model into an empty local directory.

  Attributes:
    model: `PretrainingModel`.
    vocabulary: list of str, the index is the id.
    lower_case: whether text is lower-cased.
  """

  model: PretrainingModel
  vocabulary: list
  lower_case: bool

  def write_model(self, directory):
    """Writes a model directory for --preset."""
    backbone = self.model.backbone
    rate = attention_dropout(backbone)
    if rate != backbone.dropout:
      log_line(
        f"The model keeps one dropout rate, {backbone.dropout}; the {rate} of "
        "the attention is in the exports."
      )
    backbone.save_to_preset(directory)
    save_tokenizer(directory, self.vocabulary, self.lower_case)
    save_heads(self.model, directory)

  def write_tf1(self, directory):
    """Writes a TensorFlow 1 checkpoint with the original's names."""
    export_tf1(self.model.backbone, directory, head_tensors(self.model))
    self._write_vocabulary(directory)

  def write_huggingface(self, directory):
    """Writes a BERT directory of transformers."""
    export_huggingface(self.model.backbone, directory, head_tensors(self.model))
    self._write_vocabulary(directory)
    write_json_atomically(
      os.path.join(directory, "tokenizer_config.json"),
      {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": self.lower_case,
        "model_max_length": self.model.backbone.max_sequence_length,
      },
    )

  def _write_vocabulary(self, directory):
    write_text_atomically(
      os.path.join(directory, "vocab.txt"),
      "".join(f"{token}\n" for token in self.vocabulary),
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
  _write_json(directory, BERT_CONFIG_FILE, _original_config(backbone))


def export_huggingface(backbone, directory, heads=None):
  """Writes a BertBackbone as a Hugging Face directory.

  Of `heads`, a dict of `head_tensors`, the masked language model's head is
  added, the only one Hugging Face has a class for.
  """
  tensors = {
    f"bert.{huggingface.huggingface_name(name)}": _linear(name, tensor)
    for name, tensor in original_tensors(backbone).items()
  } | {
    huggingface_head_name(name): _linear(name, tensor)
    for name, tensor in (heads or {}).items()
    if is_masked_lm(name)
  }
  write_tensors(
    os.path.join(directory, huggingface.WEIGHTS_FILE),
    tensors,
    # transformers refuses a file without it.
    {"format": "pt"},
  )
  config = {
    **_original_config(backbone),
    # The tanh form, which the original calls "gelu".
    "hidden_act": "gelu_new",
    "architectures": ["BertForMaskedLM" if heads else "BertModel"],
    "model_type": "bert",
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
    "position_embedding_type": "absolute",
  }
  _write_json(directory, huggingface.CONFIG_FILE, config)


def _original_config(backbone):
  """The values of an encoder's bert_config.json."""
  return {
    "attention_probs_dropout_prob": attention_dropout(backbone),
    "hidden_act": "gelu",
    "hidden_dropout_prob": backbone.dropout,
    "hidden_size": backbone.hidden_dim,
    "initializer_range": 0.02,  # Not kept; this is the usual value.
    "intermediate_size": backbone.intermediate_dim,
    "max_position_embeddings": backbone.max_sequence_length,
    "num_attention_heads": backbone.num_heads,
    "num_hidden_layers": backbone.num_layers,
    "type_vocab_size": backbone.num_segments,
    "vocab_size": backbone.vocabulary_size,
  }


def _linear(name, tensor):
  """The tensor in Hugging Face's layout: kernels [outputs, inputs]."""
  return tensor.T.copy() if name.endswith("/kernel") else tensor


def _write_json(directory, name, values):
  write_text_atomically(
    os.path.join(directory, name), json.dumps(values, indent=2) + "\n"
  )
