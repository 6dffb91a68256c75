"""A trained model as files: a KerasHub preset and the head beside it.

  config.json, model.weights.h5, metadata.json   the encoder, as KerasHub's
                                                 save_to_preset writes it; the
                                                 weights may be float16
  tokenizer.json                                 the settings of a KerasHub
                                                 BertTokenizer
  assets/tokenizer/vocabulary.txt                one token a line, the line
                                                 number is its id
  span_head.safetensors                          the head's weights, kernel and
                                                 bias, and the attention
                                                 dropout; named after the
                                                 head's layer, so tag_head for
                                                 B/I/O

KerasHub reads encoder and tokenizer from it without this package.
"""

import json
import os
import tempfile

import h5py
import keras
import keras_hub
import numpy as np
import safetensors
import tensorflow as tf

from bert_span.modeling import encoder
from bert_span.modeling.keras_internals import weights_undrawn
from bert_span.storage.atomic_file import unfinished_file, write_tensors
from bert_span.storage.files import (
  copy_tree,
  is_remote,
  open_file,
  read_json_object,
)

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"
TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "assets/tokenizer/vocabulary.txt"
_EXTENSION = ".safetensors"
_HEAD_ENDING = f"_head{_EXTENSION}"
# KerasHub keeps one dropout rate an encoder; the original has two.
_ATTENTION_DROPOUT = "attention_dropout"


def save_span_model(model, directory, half_precision=False):
  """Writes the encoder and the head into a directory, local or remote.

  Files of the same names are replaced one by one. A reader must not see half a
  model, so write to a new directory and rename it.

  Args:
    model: a SpanModel whose head has a name that ends in "_head".
    directory: made if it does not exist.
    half_precision: write the encoder's weights as float16. ValueError if a
      weight is too large for it.
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


def halve_weights(path):
  """Replaces a local .weights.h5 file by one with float16 for float32.

  Keras reads it into variables of any type. Numbers below 3e-8 become zero.
  HDF5's shuffle and gzip save another tenth. ValueError if a weight is too
  large for float16; the file stays then.
  """
  largest = np.finfo(np.float16).max
  with (
    unfinished_file(path) as unfinished,
    h5py.File(path) as source,
    h5py.File(unfinished, "w") as target,
  ):

    def copy(name, item):
      if not isinstance(item, h5py.Dataset):
        target.require_group(name).attrs.update(item.attrs)
        return
      values = item[()]
      if values.dtype == np.float32:
        if not np.all(np.abs(values) <= largest):
          raise ValueError(
            f"The weight {name} has values beyond {largest}, which float16 "
            "cannot hold. Save the model in float32."
          )
        values = values.astype(np.float16)
      packing = {"compression": "gzip", "shuffle": True}
      copied = target.create_dataset(
        name, data=values, **(packing if values.size > 1 else {})
      )
      copied.attrs.update(item.attrs)

    target.attrs.update(source.attrs)
    source.visititems(copy)


def save_tokenizer(directory, vocabulary, do_lower_case):
  """Writes tokenizer.json and the vocabulary, a list of tokens by id."""
  path = os.path.join(os.fspath(directory), VOCABULARY_FILE)
  tf.io.gfile.makedirs(os.path.dirname(path))
  with open_file(path, "w") as file:
    file.write("".join(f"{token}\n" for token in vocabulary))
  # Given a vocabulary, KerasHub would refuse one without [MASK], which
  # answering questions does not need.
  tokenizer = keras_hub.models.BertTokenizer(
    lowercase=do_lower_case, strip_accents=do_lower_case
  )
  settings = keras.saving.serialize_keras_object(tokenizer)
  settings.pop("build_config", None)  # as KerasHub's save_to_preset
  path = os.path.join(os.fspath(directory), TOKENIZER_FILE)
  with open_file(path, "w") as file:
    file.write(json.dumps(settings, indent=4) + "\n")


def load_backbone(directory, dtype=None):
  """The BertBackbone of a local KerasHub preset directory."""
  read_json_object(os.path.join(directory, CONFIG_FILE))
  try:
    with weights_undrawn():
      backbone = keras_hub.models.Backbone.from_preset(directory, dtype=dtype)
  except (OSError, KeyError, TypeError, ValueError) as error:
    raise ValueError(
      f"Cannot load the KerasHub preset in {directory}: {error}"
    ) from error
  check_is_bert(backbone, directory)
  for name in _head_files(directory):
    _, metadata = _tensors_and_metadata(directory, name)
    if _ATTENTION_DROPOUT in metadata:
      rate = float(metadata[_ATTENTION_DROPOUT])
      return encoder.with_attention_dropout(backbone, rate)
  return backbone


def check_is_bert(backbone, preset):
  """Refuses presets of other architectures."""
  if not isinstance(backbone, keras_hub.models.BertBackbone):
    raise ValueError(
      f"{preset} must hold a BertBackbone. Received: {type(backbone).__name__}"
    )


def read_heads(directory):
  """The trained heads in a local directory, as `LoadedEncoder` has them."""
  return {
    name.removesuffix(_EXTENSION): _tensors_and_metadata(directory, name)[0]
    for name in _head_files(directory)
  }


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
