"""A trained model as files: a KerasHub preset and the head beside it.

  config.json, model.weights.h5, metadata.json   the encoder, as KerasHub's
                                                 save_to_preset writes it;
                                                 the weights may be float16
  span_head.safetensors                          kernel [hidden, 2], bias [2],
                                                 and the attention dropout
  tag_head.safetensors                           instead of it, of the B/I/O
                                                 head: kernel [3, hidden], bias
                                                 [3], and the dropout

So keras_hub.models.BertBackbone.from_preset reads the encoder without this
package. The files about text (vocabulary, window options) are not ours.
"""

import os
import tempfile

import keras_hub
import safetensors
import tensorflow as tf
from safetensors import numpy as safetensors_numpy

from bert_span.modeling import encoder, encoder_config
from bert_span.modeling.span_head import SpanHead
from bert_span.modeling.span_model import SpanModel, assign_head
from bert_span.presets.half_precision import halve_weights
from bert_span.storage.remote import copy_tree, is_remote, local_directory
from bert_span.storage.tensor_file import write_tensors

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"
HEAD_FILE = "span_head.safetensors"
BIO_HEAD_FILE = "tag_head.safetensors"
# KerasHub keeps one dropout rate an encoder; the original has two.
_ATTENTION_DROPOUT = "attention_dropout"


def save_span_model(model, directory, half_precision=False):
  """Writes the encoder and the head into a directory.

  Files of the same names are replaced one by one; write to a new directory
  and rename it where a reader must never see half a model.

  Args:
    model: a SpanModel.
    directory: made if it does not exist; any tf.io.gfile file system.
    half_precision: write the encoder's weights as float16, half as many bytes.

  Raises:
    ValueError: a weight is too large for float16.
  """
  directory = os.fspath(directory)
  tf.io.gfile.makedirs(directory)
  if is_remote(directory):
    with tempfile.TemporaryDirectory() as local:
      _write_files(model, local, half_precision)
      copy_tree(local, directory)
  else:
    _write_files(model, directory, half_precision)
  for name in {HEAD_FILE, BIO_HEAD_FILE} - {_head_file(model)}:
    path = os.path.join(directory, name)
    if tf.io.gfile.exists(path):  # of the model that stood here before
      tf.io.gfile.remove(path)


def load_span_model(directory, dtype=None):
  """Reads a model that save_span_model wrote.

  Args:
    directory: any tf.io.gfile file system.
    dtype: the encoder's Keras dtype policy or its name; None is Keras'
      current one. The head stays float32.

  Returns:
    A SpanModel.

  Raises:
    ValueError: the directory does not hold such a model, or is damaged.
  """
  directory = os.fspath(directory)
  with local_directory(directory) as local:
    if not os.path.isfile(os.path.join(local, HEAD_FILE)):
      raise ValueError(
        f"{directory} is not a model that bert_span trained: it has no "
        f"{HEAD_FILE}. Give the model directory that a training run wrote."
      )
    backbone = load_backbone(local, dtype)
    kernel, bias = read_head(local)
  model = SpanModel(backbone, SpanHead(use_bias=bias is not None))
  tensors = {"kernel": kernel} | ({} if bias is None else {"bias": bias})
  assign_head(model, tensors)
  return model


def load_backbone(directory, dtype=None):
  """Reads the encoder of a local KerasHub preset directory.

  Args:
    directory: local directory with config.json and model.weights.h5.
    dtype: a Keras dtype policy or its name; None is Keras' current one.

  Returns:
    A keras_hub.models.BertBackbone.

  Raises:
    ValueError: another architecture, or a damaged or missing file.
  """
  encoder_config.read_json_object(os.path.join(directory, CONFIG_FILE))
  try:
    backbone = keras_hub.models.Backbone.from_preset(directory, dtype=dtype)
  except (OSError, KeyError, TypeError, ValueError) as error:
    raise ValueError(
      f"Cannot load the KerasHub preset in {directory}: {error}"
    ) from error
  check_is_bert(backbone, directory)
  rate = _saved_attention_dropout(directory)
  if rate is None:
    return backbone
  return encoder.with_attention_dropout(backbone, rate)


def check_is_bert(backbone, preset):
  """Refuses presets of other architectures."""
  if not isinstance(backbone, keras_hub.models.BertBackbone):
    raise ValueError(
      f"{preset} must hold a BertBackbone. Received: {type(backbone).__name__}"
    )


def read_head(directory):
  """The span head in a local directory.

  Returns:
    The pair kernel float32 [hidden, 2] and bias float32 [2] or None;
    (None, None) where the directory has no head.

  Raises:
    ValueError: the file is damaged.
  """
  return _read_head(os.path.join(directory, HEAD_FILE))


def read_bio_head(directory):
  """The B/I/O head in a local directory.

  Returns:
    The pair kernel float32 [3, hidden] and bias float32 [3]; (None, None)
    where the directory has no such head.

  Raises:
    ValueError: the file is damaged.
  """
  path = os.path.join(directory, BIO_HEAD_FILE)
  kernel, bias = _read_head(path)
  if kernel is not None and bias is None:
    raise ValueError(f'{path} lacks the tensor "bias". Save the model again.')
  return kernel, bias


def _read_head(path):
  """Kernel and bias of a file; None where there is none."""
  if not os.path.isfile(path):
    return None, None
  try:
    tensors = safetensors_numpy.load_file(path)
  except (OSError, safetensors.SafetensorError) as error:
    raise ValueError(f"Cannot read the head {path}: {error}") from error
  if "kernel" not in tensors:
    raise ValueError(
      f'{path} lacks the tensor "kernel". Received: {", ".join(tensors)}'
    )
  return tensors["kernel"], tensors.get("bias")


def _saved_attention_dropout(directory):
  paths = [os.path.join(directory, n) for n in (HEAD_FILE, BIO_HEAD_FILE)]
  path = next(filter(os.path.isfile, paths), None)
  if path is None:
    return None
  try:
    with safetensors.safe_open(path, framework="numpy") as file:
      rate = (file.metadata() or {}).get(_ATTENTION_DROPOUT)
  except (OSError, safetensors.SafetensorError) as error:
    raise ValueError(f"Cannot read the head {path}: {error}") from error
  return None if rate is None else float(rate)


def _head_file(model):
  return f"{model.head.name}.safetensors"


def _write_files(model, directory, half_precision):
  model.backbone.save_to_preset(directory)
  if half_precision:
    halve_weights(os.path.join(directory, WEIGHTS_FILE))
  tensors = {"kernel": model.head.kernel.numpy()}
  if model.head.bias is not None:
    tensors["bias"] = model.head.bias.numpy()
  rate = encoder.attention_dropout(model.backbone)
  write_tensors(
    os.path.join(directory, _head_file(model)),
    tensors,
    {_ATTENTION_DROPOUT: repr(float(rate))},
  )
