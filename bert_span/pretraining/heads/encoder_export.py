"""Encoders in the formats of others: the original's and Hugging Face's.

  TensorFlow 1   bert_model.ckpt.index, bert_model.ckpt.data-..., and
                 bert_config.json; read by --init_checkpoint and the original
  Hugging Face   model.safetensors, config.json; read by --preset and
                 transformers' BertModel and BertForMaskedLM

Both carry the masked language model's head where one is given. Vocabularies
are written elsewhere: this room knows no strings.
"""

import json
import os

import tensorflow as tf

from bert_span.modeling.encoder import attention_dropout
from bert_span.presets import encoder_weights, huggingface
from bert_span.pretraining.heads import weights as pretraining_heads
from bert_span.storage.atomic_file import write_tensors

CHECKPOINT_NAME = "bert_model.ckpt"
BERT_CONFIG_FILE = "bert_config.json"
_PREFIX = "bert"
_EPSILON = 1e-12


def export_tf1(backbone, directory, heads=None):
  """Writes an encoder as the original's checkpoint and configuration.

  Args:
    backbone: a BertBackbone.
    directory: local, one that exists.
    heads: dict from the original's name to array, such as
      "cls/predictions/output_bias", written along; None for none.
  """
  tensors = {
    f"{_PREFIX}/{name}": tensor
    for name, tensor in _original_tensors(backbone).items()
  }
  tensors |= heads or {}
  names = sorted(tensors)
  tf.raw_ops.SaveV2(
    prefix=os.path.join(directory, CHECKPOINT_NAME),
    tensor_names=names,
    shape_and_slices=[""] * len(names),
    tensors=[tensors[name] for name in names],
  )
  _write_json(directory, BERT_CONFIG_FILE, original_config(backbone))


def export_huggingface(backbone, directory, heads=None, pad_token_id=0):
  """Writes an encoder as a Hugging Face directory.

  Args:
    backbone: a BertBackbone.
    directory: local, one that exists.
    heads: see `export_tf1`; of these the masked language model's head is
      written, the only one Hugging Face has a class for.
    pad_token_id: id of [PAD].
  """
  tensors = {}
  for name, tensor in _original_tensors(backbone).items():
    stored = f"{_PREFIX}.{huggingface.huggingface_name(name)}"
    tensors[stored] = _linear(name, tensor)
  for name, tensor in (heads or {}).items():
    if pretraining_heads.is_masked_lm(name):
      stored = pretraining_heads.huggingface_head_name(name)
      tensors[stored] = _linear(name, tensor)
  write_tensors(
    os.path.join(directory, huggingface.WEIGHTS_FILE),
    tensors,
    # transformers refuses a file that does not say so.
    {"format": "pt"},
  )
  config = {
    **original_config(backbone),
    # What the original calls "gelu": the tanh form.
    "hidden_act": "gelu_new",
    "architectures": ["BertForMaskedLM" if heads else "BertModel"],
    "model_type": "bert",
    "layer_norm_eps": _EPSILON,
    "pad_token_id": pad_token_id,
    "position_embedding_type": "absolute",
  }
  _write_json(directory, huggingface.CONFIG_FILE, config)


def original_config(backbone):
  """The values of bert_config.json for an encoder.

  Args:
    backbone: a BertBackbone.

  Returns:
    dict; initializer_range, which is not kept, has the usual value.
  """
  return {
    "attention_probs_dropout_prob": attention_dropout(backbone),
    "hidden_act": "gelu",
    "hidden_dropout_prob": backbone.dropout,
    "hidden_size": backbone.hidden_dim,
    "initializer_range": 0.02,
    "intermediate_size": backbone.intermediate_dim,
    "max_position_embeddings": backbone.max_sequence_length,
    "num_attention_heads": backbone.num_heads,
    "num_hidden_layers": backbone.num_layers,
    "type_vocab_size": backbone.num_segments,
    "vocab_size": backbone.vocabulary_size,
  }


def _original_tensors(backbone):
  """The encoder's weights by the original's names, in its layout."""
  names = encoder_weights.original_names(backbone.num_layers)
  weights = {weight.path: weight for weight in backbone.weights}
  tensors = {}
  for path, name in names.items():
    tensor = weights[path].numpy().astype("float32")
    if "/self_attention_layer/" in path:  # The heads stand side by side there.
      is_bias = path.endswith("/bias")
      tensor = tensor.reshape((-1,) if is_bias else (backbone.hidden_dim, -1))
    tensors[name] = tensor
  return tensors


def _linear(name, tensor):
  """The tensor as Hugging Face keeps it: kernels [outputs, inputs]."""
  return tensor.T.copy() if name.endswith("/kernel") else tensor


def _write_json(directory, name, values):
  with tf.io.gfile.GFile(os.path.join(directory, name), "w") as file:
    file.write(json.dumps(values, indent=2) + "\n")
