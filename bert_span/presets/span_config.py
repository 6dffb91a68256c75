"""span_config.json: what a model directory says about text and answers."""

import dataclasses
import json
import os

import tensorflow as tf

from bert_span.options.fields import options_from_json
from bert_span.options.messages import shortened
from bert_span.presets import hub
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.storage.files import checked_object, parse_json, read_bytes
from bert_span.storage.json_fields import NAMES
from bert_span.text.options import WindowOptions

CONFIG_FILE = "span_config.json"
MODEL_CARD = "README.md"
_FORMAT_VERSION = 1
_TYPES = {"head": str, "do_lower_case": bool, "window": dict, "decoder": dict}
# The trained models that come with this package.
EMBEDDED_NAMES = ("minilm_squad",)
_FOLDER = os.path.join(
  os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pretrained"
)


def find_embedded_model(preset):
  """The directory of an embedded model, or of a name on a hub.

  Other presets are unchanged.
  """
  preset = hub.fetched(preset)
  if preset not in EMBEDDED_NAMES or tf.io.gfile.isdir(preset):
    return preset
  directory = os.path.join(_FOLDER, preset)
  if not os.path.isdir(directory):
    raise ValueError(
      f"This installation of bert_span lacks the model {preset}: there is no "
      f"{directory}. Install it again, from its wheel or a full checkout."
    )
  return directory


def find_model_file(model, name):
  """The path of a file beside a model, a directory or name; None without it."""
  path = os.path.join(find_embedded_model(model), name)
  try:
    return path if tf.io.gfile.exists(path) else None
  except tf.errors.UnimplementedError:  # No such file system.
    return None


def span_config(do_lower_case, window_options, decoder_options, head):
  """What a model says about text and answers, a dict of JSON values."""
  return {
    "format": _FORMAT_VERSION,
    "head": head,
    "do_lower_case": do_lower_case,
    "window": dataclasses.asdict(window_options),
    "decoder": dataclasses.asdict(decoder_options),
  }


def write_span_config(directory, config):
  """Writes a `span_config` into a model directory."""
  path = os.path.join(directory, CONFIG_FILE)
  write_text_atomically(path, json.dumps(config, indent=2) + "\n")


def update_decoder(directory, values):
  """Changes some decoding options in a model directory's span_config.json."""
  config = read_span_config(directory)
  config["decoder"] = {**config["decoder"], **values}
  write_span_config(directory, config)


def read_span_config(directory):
  """Reads a `span_config`; None if the directory or embedded model has none."""
  path = find_model_file(directory, CONFIG_FILE)
  return parse_span_config(read_bytes(path), path) if path else None


def parse_span_config(content, path):
  """The `span_config` in the bytes of a file, its decoder unchecked."""
  config = checked_object(parse_json(content, path), path)
  if config.get("format") != _FORMAT_VERSION or "head" not in config:
    raise ValueError(
      f"{path}: it must be of format {_FORMAT_VERSION} with a head. Received: "
      f"format {config.get('format')!r}, head {config.get('head')!r}."
    )
  for key, kind in _TYPES.items():
    if not isinstance(config.get(key), kind):
      raise ValueError(
        f"{path}: {key} must be a JSON {NAMES[kind]}. Received: "
        f"{shortened(config.get(key))}. Correct it, or save the model again."
      )
  options_from_json(WindowOptions, config["window"], f"{path}, window")
  return config
