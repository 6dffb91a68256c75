"""Loads an encoder from any kind of source."""

import dataclasses
import os

import tensorflow as tf

from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.encoder import build_encoder
from bert_span.presets import hub, huggingface, model_directory
from bert_span.presets.encoder_weights import (
  LoadedPreset,
  load_tf1_checkpoint,
  read_bert_config,
)
from bert_span.presets.span_config import EMBEDDED_NAMES, find_embedded_model
from bert_span.storage.files import local_directory, read_json_object

# One of them is in each config.json.
_FAMILY_KEYS = "registered_name", "model_type", "architectures"
# Files of the originals, as they were released.
_ORIGINALS = (
  ("bert_config.json", "bert_model.ckpt", "vocab.txt"),
  ("albert_config.json", "model.ckpt-best", "30k-clean.model"),
)
_KINDS = (
  "a directory this package saved or a KerasHub preset (config.json with "
  '"registered_name", model.weights.h5), or a Hugging Face directory '
  '(config.json with "model_type" or "architectures", model.safetensors or '
  "pytorch_model.bin, vocabulary)"
)


def load_original(bert_config_file, init_checkpoint=""):
  """A LoadedPreset of the original's files; random weights by default."""
  config = read_bert_config(bert_config_file)
  if init_checkpoint:
    return load_tf1_checkpoint(config, init_checkpoint)
  source = f"random weights, sizes from {bert_config_file}"
  return LoadedPreset(build_encoder(config), description=source)


def load_pretrained(preset, verify=True):
  """The LoadedPreset of a directory or name, see `EncoderSource.preset`.

  A preset is any path of tf.io.gfile, a name on a hub, or one of KerasHub.
  """
  preset = find_embedded_model(hub.fetch(preset))
  if tf.io.gfile.isdir(preset):
    return _load_directory(preset, verify)
  if preset == huggingface.MINILM_NAME:
    return huggingface.load_huggingface(huggingface.find_packaged_minilm())
  architectures = ARCHITECTURES.values()
  names = [n for each in architectures for n in sorted(each.backbone.presets)]
  if preset in names:
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
  names = [*EMBEDDED_NAMES, huggingface.MINILM_NAME, *names]
  raise ValueError(
    f"There is no directory and no preset {preset!r}. An encoder comes from "
    f"{_KINDS}; the names are {', '.join(names)}. A name on Hugging Face's hub "
    f"begins with hf://, here {hub.with_scheme(preset)}."
  )


def _load_directory(directory, verify):
  with local_directory(directory) as local:
    if _is_huggingface(local, directory):
      loaded = huggingface.load_huggingface(local)
    else:
      if verify:
        model_directory.check_checksums(local)
      heads = model_directory.read_heads(local)
      backbone = model_directory.load_backbone(local)
      kind = "model bert_span trained" if heads else "KerasHub preset"
      loaded = LoadedPreset(
        backbone,
        heads,
        *model_directory.find_tokenizer(local, backbone),
        f"the {kind} in {local}",
      )
  if local == directory:
    return loaded
  # The temporary copy is gone by now.
  vocabulary = loaded.vocabulary_path
  return dataclasses.replace(
    loaded,
    vocabulary_path=vocabulary and vocabulary.replace(local, directory, 1),
    description=loaded.description.replace(local, directory),
  )


def _is_huggingface(local, directory):
  """Whether a directory is Hugging Face's (True) or KerasHub's (False)."""
  files = sorted(os.listdir(local))
  if model_directory.CONFIG_FILE in files:
    values = read_json_object(os.path.join(local, model_directory.CONFIG_FILE))
    if not values.keys().isdisjoint(_FAMILY_KEYS):
      return "registered_name" not in values
  for config, checkpoint, vocabulary in _ORIGINALS:
    if config in files:
      raise ValueError(
        f"{directory} holds an original BERT or ALBERT. Give it as "
        f"bert_config_file={directory}/{config} init_checkpoint={directory}/"
        f"{checkpoint} vocab_file={directory}/{vocabulary}, not as a preset."
      )
  raise ValueError(
    f"{directory} has no config.json of a known kind. An encoder comes from "
    f"{_KINDS}. Received a directory with: {', '.join(files[:10])}"
  )
