"""Where an encoder comes from: every kind of source behind two functions."""

import dataclasses
import os

import keras_hub
import tensorflow as tf

from bert_span.modeling import encoder_config
from bert_span.modeling.encoder import build_encoder
from bert_span.modeling.keras_internals import preset_file
from bert_span.presets import (
  embedded_model,
  huggingface,
  model_directory,
  packaged_encoder,
  tf1_checkpoint,
)
from bert_span.presets.loaded_encoder import LoadedEncoder
from bert_span.storage.files import local_directory

# Handles that KerasHub resolves over the network.
_HUB_SCHEMES = ("hf://", "kaggle://", "modelscope://")
_KERASHUB_VOCABULARY = "assets/tokenizer/vocabulary.txt"
_KINDS = (
  "a directory this package saved or a KerasHub preset (config.json with "
  '"registered_name", model.weights.h5), or a Hugging Face directory '
  '(config.json with "model_type": "bert", model.safetensors, vocab.txt)'
)


def load_original(bert_config_file, init_checkpoint="", dtype=None):
  """Loads an encoder as the original does, from a TensorFlow 1 checkpoint.

  Args:
    bert_config_file: path of bert_config.json.
    init_checkpoint: the checkpoint's path prefix; "" or None leaves the
      encoder with random weights, as in the original.
    dtype: a Keras dtype policy or its name; None is Keras' current one.

  Returns:
    A LoadedEncoder, with the head of a checkpoint that was fine-tuned; it
    says nothing about vocabulary and lower case.

  Raises:
    ValueError: a file is missing or damaged, or the two do not belong
      together.
  """
  backbone = build_encoder(
    encoder_config.read_bert_config(bert_config_file), dtype
  )
  if not init_checkpoint:
    return LoadedEncoder(
      backbone, description=f"random weights, sizes from {bert_config_file}"
    )
  heads = tf1_checkpoint.load_tf1_checkpoint(backbone, init_checkpoint)
  return LoadedEncoder(
    backbone,
    head_weights=heads,
    description=f"the TensorFlow 1 checkpoint {init_checkpoint}",
  )


def load_pretrained(preset, dtype=None):
  """Loads an encoder from a directory or by name.

  Args:
    preset: a directory that this package saved, a KerasHub preset directory,
      a Hugging Face directory (any tf.io.gfile file system);
      "minilm_squad" for the trained model of this package;
      "all-minilm-l6-v2" for the encoder of the installed Python package; or
      a name or handle that KerasHub knows, such as "bert_base_en_uncased".
    dtype: a Keras dtype policy or its name; None is Keras' current one.

  Returns:
    A LoadedEncoder.

  Raises:
    ValueError: no such source, or it holds no BERT.
  """
  preset = embedded_model.find_embedded_model(preset)
  if preset.startswith(_HUB_SCHEMES):
    return _load_by_name(preset, dtype)
  if tf.io.gfile.isdir(preset):
    return _load_directory(preset, dtype)
  if preset == packaged_encoder.NAME:
    return huggingface.load_huggingface(
      packaged_encoder.find_packaged_minilm(), dtype
    )
  if preset in keras_hub.models.BertBackbone.presets:
    return _load_by_name(preset, dtype)
  raise _unknown_preset_error(preset)


def _load_directory(directory, dtype):
  """Loads a directory by the kind its files show, local or not."""
  with local_directory(directory) as local:
    if _is_huggingface(local, directory):
      loaded = huggingface.load_huggingface(local, dtype)
    else:
      loaded = _load_kerashub_directory(local, dtype)
  if local == directory:
    return loaded
  vocabulary = loaded.vocabulary_path
  if vocabulary is not None:  # The temporary copy is gone by now.
    vocabulary = os.path.join(directory, os.path.relpath(vocabulary, local))
  return dataclasses.replace(
    loaded,
    vocabulary_path=vocabulary,
    description=loaded.description.replace(local, directory),
  )


def _is_huggingface(local, directory):
  """Whether a directory is Hugging Face's (True) or KerasHub's (False)."""
  config_path = os.path.join(local, model_directory.CONFIG_FILE)
  if not os.path.exists(config_path):
    raise _unknown_directory_error(directory, sorted(os.listdir(local)))
  values = encoder_config.read_json_object(config_path)
  if "registered_name" in values:
    return False
  if "model_type" in values:
    return True
  raise ValueError(
    f'{directory}/config.json has neither "registered_name" (KerasHub) nor '
    f'"model_type" (Hugging Face). An encoder comes from {_KINDS}.'
  )


def _load_kerashub_directory(directory, dtype):
  heads = model_directory.read_heads(directory)
  kind = "model bert_span trained" if heads else "KerasHub preset"
  vocabulary = os.path.join(directory, _KERASHUB_VOCABULARY)
  tokenizer = os.path.join(directory, "tokenizer.json")
  return LoadedEncoder(
    backbone=model_directory.load_backbone(directory, dtype),
    head_weights=heads,
    vocabulary_path=vocabulary if os.path.exists(vocabulary) else None,
    lower_case=_lower_case(tokenizer) if os.path.exists(tokenizer) else None,
    description=f"the {kind} in {directory}",
  )


def _load_by_name(preset, dtype):
  """Loads what KerasHub downloads, or finds in its cache."""
  try:
    backbone = keras_hub.models.Backbone.from_preset(preset, dtype=dtype)
    vocabulary, lower_case = _hub_tokenizer(preset)
  # Each hub's client raises exceptions of its own: network, login, no file.
  except Exception as error:
    raise ValueError(
      f"KerasHub cannot load the preset {preset}: {error} Names other than "
      f"{packaged_encoder.NAME} are downloaded: check the network (and the "
      "login of the hub), or download the model elsewhere and give its "
      "directory."
    ) from error
  model_directory.check_is_bert(backbone, preset)
  return LoadedEncoder(
    backbone=backbone,
    vocabulary_path=vocabulary,
    lower_case=lower_case,
    description=f"the preset {preset}",
  )


def _hub_tokenizer(preset):
  """The local path of a preset's vocabulary, and whether it is lower-cased."""
  vocabulary = preset_file(preset, _KERASHUB_VOCABULARY)
  if vocabulary is not None:
    return vocabulary, _lower_case(preset_file(preset, "tokenizer.json"))
  # A handle of a model in Hugging Face's own format.
  vocabulary = preset_file(preset, "vocab.txt")
  if vocabulary is None:
    raise ValueError("it has no vocabulary.")
  path = preset_file(preset, "tokenizer_config.json")
  values = {} if path is None else encoder_config.read_json_object(path)
  return vocabulary, bool(values.get("do_lower_case", True))


def _lower_case(tokenizer_path):
  """Whether a KerasHub tokenizer.json lower-cases; None if it does not say."""
  values = encoder_config.read_json_object(tokenizer_path)
  settings = values.get("config")
  return settings.get("lowercase") if isinstance(settings, dict) else None


def _unknown_directory_error(directory, files):
  if "bert_config.json" in files:
    return ValueError(
      f"{directory} holds an original BERT. Give it as --bert_config_file="
      f"{directory}/bert_config.json --init_checkpoint={directory}/"
      f"bert_model.ckpt --vocab_file={directory}/vocab.txt, not as a preset."
    )
  if any(map(huggingface.is_pickled, files)):
    return huggingface.pickled_weights_error(directory, files)
  return ValueError(
    f"{directory} has no config.json. An encoder comes from {_KINDS}. "
    f"Received a directory with: {', '.join(files[:10]) or 'no files'}"
  )


def _unknown_preset_error(preset):
  if _exists(preset):
    if huggingface.is_pickled(preset):
      directory, name = os.path.split(preset)
      return huggingface.pickled_weights_error(directory, [name])
    return ValueError(
      f"The preset must be a directory: {_KINDS}. Received the file {preset}"
    )
  hub_names = sorted(keras_hub.models.BertBackbone.presets)
  names = ", ".join([*embedded_model.NAMES, packaged_encoder.NAME, *hub_names])
  return ValueError(
    f"There is no directory and no preset {preset!r}. An encoder comes from "
    f"{_KINDS}; the names are {names}."
  )


def _exists(path):
  try:
    return tf.io.gfile.exists(path)
  except tf.errors.OpError as error:  # No such file system, or no access.
    raise ValueError(f"Cannot look at {path}: {error.message}") from error
