"""The weights in a model directory, a preset of KerasHub."""

import io
import os

import h5py
import keras
import numpy as np

from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import encoder_config, merged_weights
from bert_span.modeling.heads import weights_by_name
from bert_span.modeling.keras_internals import (
  task_weights_content,
  weights_content,
  write_preset_config,
)
from bert_span.presets import span_config
from bert_span.presets.encoder_weights import (
  check_read_back,
  initialize,
  parse_config,
  unfilled_encoder,
)
from bert_span.storage.atomic_file import (
  write_bytes,
  write_json_atomically,
)
from bert_span.storage.files import (
  checked_object,
  read_json_object,
)

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"
HEAD_FILE = "task.weights.h5"
# The key, in KerasHub's JSON files, of an object with settings that KerasHub
# does not have.
PACKAGE_KEY = "bert_span"
_PACKAGE_FIELDS = "attention_dropout", "activation", "layer_norm_epsilon"
# Only weights with more numbers, tables of tokens, are compressed: it slows
# reading.
_MIN_COMPRESSED_SIZE = 2**22


def save_backbone(backbone, directory, half_precision=False):
  """Writes an encoder of `build_encoder` into a local directory."""
  if backbone.variable_dtype == "bfloat16":  # HDF5 has no such numbers.
    raise ValueError(
      'A model in bfloat16 is not saved. Load it with dtype="float32".'
    )
  weights = merged_weights(backbone)  # None of them is quantized.
  write_preset_config(backbone, directory)
  path = os.path.join(directory, CONFIG_FILE)
  config = encoder_config(backbone)
  settings = {name: getattr(config, name) for name in _PACKAGE_FIELDS}
  write_json_atomically(path, {**read_json_object(path), PACKAGE_KEY: settings})
  path = os.path.join(directory, WEIGHTS_FILE)
  write_bytes(path, weights_content(backbone))
  if half_precision:
    halve_weights(path)
    weights = (
      (weight, value.astype(np.float16).astype(np.float32))
      for weight, value in weights
    )
  loaded_weights = load_backbone(directory).weights
  check_read_back(weights, {w.path: w for w in loaded_weights}, path)


def save_head(extractor, directory):
  """Writes the head of an extractor into a local directory."""
  head = extractor.head
  if not head.name.endswith("_head"):
    raise ValueError(
      f'The name of a head must end in "_head". Received: {head.name!r}'
    )
  path = os.path.join(directory, HEAD_FILE)
  write_bytes(path, task_weights_content(extractor))
  stored = _read_head_weights(path).get(head.name, {})
  values = {w.path: stored.get(n) for n, w in weights_by_name(head).items()}
  check_read_back(merged_weights(head), values, path)


def halve_weights(path):
  """Converts a local .weights.h5 file from float32 to float16."""
  largest = np.finfo(np.float16).max
  content = io.BytesIO()  # As in `weights_content`.
  with h5py.File(path) as source, h5py.File(content, "w") as target:

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
      compression = {}
      if values.size > _MIN_COMPRESSED_SIZE:
        compression = {"compression": "gzip", "shuffle": True}
        # A single chunk is smaller and faster.
        compression["chunks"] = values.shape
      dataset = target.create_dataset(name, data=values, **compression)
      dataset.attrs.update(item.attrs)

    target.attrs.update(source.attrs)
    source.visititems(copy)
  write_bytes(path, content.getvalue())


def load_backbone(directory):
  """Returns the backbone of a local directory, with its weights.

  Raises:
    ValueError: config.json is not that of a known encoder, or the weights do
      not fit it.
  """
  path = os.path.join(directory, CONFIG_FILE)
  values = read_json_object(path)
  name = values.get("registered_name")
  # KerasHub registers its classes also by the names of KerasNLP.
  backbone_class = keras.saving.get_registered_object(str(name))  # or a list
  architectures = {each.backbone: each for each in ARCHITECTURES.values()}
  architecture = architectures.get(backbone_class)
  if architecture is None:
    names = map(keras.saving.get_registered_name, architectures)
    raise ValueError(
      f"{path}: registered_name must be one of {', '.join(names)}. Received: "
      f"{name}. Use another model."
    )
  settings = values.get("config")
  if not isinstance(settings, dict):
    raise ValueError(f'{path} lacks the object "config". Save the model again.')
  settings = {
    "attention_dropout": settings.get("dropout", 0.1),
    "activation": architecture.activation,
    "layer_norm_epsilon": architecture.layer_norm_epsilon,
    **settings,
    # It names functions, such as activations, as `EncoderConfig` does.
    **checked_object(values.get(PACKAGE_KEY, {}), f"{path}, {PACKAGE_KEY}"),
  }
  config = parse_config(
    architecture.name, settings, path, architecture.arguments
  )
  weights_path = os.path.join(directory, WEIGHTS_FILE)
  try:
    # Counted before memory is taken for them. Keras does not notice layers that
    # only the file has.
    received = _count_numbers(weights_path)
    backbone = unfilled_encoder(config)
    expected = backbone.count_params()
    if received != expected:
      raise ValueError(
        f"it holds {received:,} floating-point numbers, the encoder "
        f"{expected:,}"
      )
    initialize(backbone, lambda weight: np.zeros(weight.shape, np.float32))
    backbone.load_weights(weights_path)
  # h5py and Keras raise many types for damaged files.
  except Exception as error:
    raise ValueError(
      f"Cannot load {weights_path} into the encoder of {path}: {error}. Use "
      "the files of one model."
    ) from error
  return backbone


def _count_numbers(weights_path):
  """Returns how many floating-point numbers a .weights.h5 file holds."""
  items = []
  with h5py.File(weights_path) as file:
    file.visititems(lambda _, item: items.append(item))
    arrays = [item for item in items if isinstance(item, h5py.Dataset)]
    return sum(array.size for array in arrays if array.dtype.kind == "f")


def read_heads(directory):
  """Returns the trained heads in a local directory.

  They are the head_weights of a `LoadedPreset`: {} without a trained head.
  """
  config = span_config.read_span_config(directory)
  path = os.path.join(directory, HEAD_FILE)
  if config is None or not config["head_is_trained"]:
    return {}
  if not os.path.exists(path):
    raise ValueError(
      f"{path} is missing, the weights of the trained head. Copy the model "
      "again."
    )
  return _read_head_weights(path)


def _read_head_weights(path):
  """Returns the weights in a task.weights.h5, by layer and weight name."""
  heads = {}
  try:
    with h5py.File(path) as file:
      for layer in file["layers"].values():
        weights = {key: value[()] for key, value in layer["vars"].items()}
        if weights:
          heads[layer["vars"].attrs["name"]] = weights
  # h5py raises many types for damaged files.
  except Exception as error:
    raise ValueError(
      f"Cannot read {path}: {error}. Copy the model again."
    ) from error
  return heads
