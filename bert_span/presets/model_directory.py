"""A trained model as files: a KerasHub preset and the head beside it.

  config.json, model.weights.h5, metadata.json   the encoder, as KerasHub's
                                                 save_to_preset writes it;
                                                 the weights may be float16
  span_head.safetensors                          the head's weights under their
                                                 names, kernel and bias, and
                                                 the attention dropout; the
                                                 file has the name of the
                                                 head's layer, tag_head for
                                                 B/I/O

So keras_hub.models.BertBackbone.from_preset reads the encoder without this
package. The files about text (vocabulary, window options) are not ours.
"""

import os
import tempfile

import keras_hub
import safetensors
import tensorflow as tf

from bert_span.modeling import encoder, encoder_config
from bert_span.modeling.keras_internals import weights_undrawn
from bert_span.presets.half_precision import halve_weights
from bert_span.storage.atomic_file import write_tensors
from bert_span.storage.files import copy_tree, is_remote

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"
_EXTENSION = ".safetensors"
_HEAD_ENDING = f"_head{_EXTENSION}"
# KerasHub keeps one dropout rate an encoder; the original has two.
_ATTENTION_DROPOUT = "attention_dropout"


def save_span_model(model, directory, half_precision=False):
  """Writes the encoder and the head into a directory.

  Files of the same names are replaced one by one; write to a new directory
  and rename it where a reader must never see half a model.

  Args:
    model: a SpanModel whose head has a name that ends in "_head".
    directory: made if it does not exist; any tf.io.gfile file system.
    half_precision: write the encoder's weights as float16, half as many bytes.

  Raises:
    ValueError: a weight is too large for float16, or the head has another
      name.
  """
  if not model.head.name.endswith("_head"):
    raise ValueError(
      'The name of a head must end in "_head", which its file is found by. '
      f"Received: {model.head.name!r}"
    )
  directory = os.fspath(directory)
  tf.io.gfile.makedirs(directory)
  if is_remote(directory):
    with tempfile.TemporaryDirectory() as local:
      _write_files(model, local, half_precision)
      copy_tree(local, directory)
  else:
    _write_files(model, directory, half_precision)
  for name in _head_files(directory):
    if name != model.head.name + _EXTENSION:  # of the model before this one
      tf.io.gfile.remove(os.path.join(directory, name))


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
    with weights_undrawn():
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


def read_heads(directory):
  """The trained heads in a local directory, whatever their names.

  Returns:
    dict as in `LoadedEncoder`; {} where the directory has no head.

  Raises:
    ValueError: a file is damaged.
  """
  return {
    name.removesuffix(_EXTENSION): _tensors_and_metadata(directory, name)[0]
    for name in _head_files(directory)
  }


def _saved_attention_dropout(directory):
  for name in _head_files(directory):
    _, metadata = _tensors_and_metadata(directory, name)
    if _ATTENTION_DROPOUT in metadata:
      return float(metadata[_ATTENTION_DROPOUT])
  return None


def _head_files(directory):
  names = tf.io.gfile.listdir(directory)
  return sorted(name for name in names if name.endswith(_HEAD_ENDING))


def _tensors_and_metadata(directory, name):
  path = os.path.join(directory, name)
  try:
    with safetensors.safe_open(path, framework="numpy") as file:
      tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
      return tensors, file.metadata() or {}
  except (OSError, safetensors.SafetensorError) as error:
    raise ValueError(f"Cannot read the head {path}: {error}") from error


def _write_files(model, directory, half_precision):
  model.backbone.save_to_preset(directory)
  if half_precision:
    halve_weights(os.path.join(directory, WEIGHTS_FILE))
  rate = encoder.attention_dropout(model.backbone)
  write_tensors(
    os.path.join(directory, model.head.name + _EXTENSION),
    {weight.name: weight.numpy() for weight in model.head.weights},
    {_ATTENTION_DROPOUT: repr(float(rate))},
  )
