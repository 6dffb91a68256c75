"""What the files of a model say about text and answers."""

import dataclasses
import os

import keras
import tensorflow as tf

from bert_span.options.fields import options_from_json
from bert_span.options.messages import shortened
from bert_span.presets import hub
from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import (
  checked_object,
  parse_json,
  read_bytes,
  read_json_object,
)
from bert_span.storage.json_fields import NAMES
from bert_span.text.options import WindowOptions

TASK_FILE = "task.json"
PREPROCESSOR_FILE = "preprocessor.json"
CONFIG_FILE = "span_config.json"  # of a TFLite model
MODEL_CARD = "README.md"
_FORMAT_VERSION = 1
_TYPES = {"head": str, "do_lower_case": bool, "window": dict, "decoder": dict}
_TASK_TYPES = {
  "head_name": str,
  "decoder_options": dict,
  "head_is_trained": bool,
}
# The trained models that come with this package, and what they are.
EMBEDDED_MODELS = {
  "minilm_squad": "English MiniLM with a span head, which knows 'no answer'.",
}
_FOLDER = os.path.join(
  os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "pretrained"
)


def find_embedded_model(preset):
  """Returns the directory of an embedded model or of a name on a hub.

  Any other preset is returned unchanged.
  """
  preset = hub.fetched(preset)
  if preset not in EMBEDDED_MODELS or tf.io.gfile.isdir(preset):
    return preset
  directory = os.path.join(_FOLDER, preset)
  if not os.path.isdir(directory):
    raise ValueError(
      f"This installation of bert_span lacks the model {preset}: there is no "
      f"{directory}. Install it again, from its wheel or a full checkout."
    )
  return directory


def find_model_file(model, name):
  """Returns the path of a file in a model's directory, None without one."""
  path = os.path.join(find_embedded_model(model), name)
  try:
    return path if tf.io.gfile.exists(path) else None
  except tf.errors.UnimplementedError:  # No such file system.
    return None


def span_config(extractor):
  """Returns what a model says about text and answers, a dict of JSON values.

  A TFLite model holds it as span_config.json.
  """
  return {
    "format": _FORMAT_VERSION,
    "head": extractor.head_name,
    "do_lower_case": extractor.preprocessor.tokenizer.do_lower_case,
    "window": dataclasses.asdict(extractor.window_options),
    "decoder": dataclasses.asdict(extractor.decoder_options),
  }


def parse_span_config(content, path):
  """Parses the bytes of a span_config.json; "decoder" is not checked."""
  config = checked_object(parse_json(content, path), path)
  if config.get("format") != _FORMAT_VERSION or "head" not in config:
    raise ValueError(
      f"{path}: it must be of format {_FORMAT_VERSION} with a head. Received: "
      f"format {config.get('format')!r}, head {config.get('head')!r}."
    )
  _check_types(config, _TYPES, path)
  options_from_json(WindowOptions, config["window"], f"{path}, window")
  return config


def write_task_files(extractor, directory):
  """Writes task.json and preprocessor.json into a local directory.

  KerasHub's save_to_preset writes them, too. Here they leave out what other
  files have: the encoder and the vocabulary, and in task.json the preprocessor.
  """
  config = extractor.get_config()
  task = {name: config[name] for name in ("name", "trainable", *_TASK_TYPES)}
  extractor_class = type(extractor)
  settings = {
    "module": extractor_class.__module__,
    "class_name": extractor_class.__name__,
    "config": {**task, "head": config["head"]},
    "registered_name": keras.saving.get_registered_name(extractor_class),
  }
  write_json_atomically(os.path.join(directory, TASK_FILE), settings)
  settings = config["preprocessor"]
  # Padding to the longest window is chosen when a model is loaded.
  del settings["config"]["pad_to_max"]
  arguments = extractor.preprocessor.tokenizer.file_arguments
  tokenizer = settings["config"]["tokenizer"]["config"]
  tokenizer |= dict.fromkeys(name for name in arguments if name in tokenizer)
  write_json_atomically(os.path.join(directory, PREPROCESSOR_FILE), settings)


def update_decoder(directory, values):
  """Changes decoding options in a model directory's task.json."""
  path = os.path.join(directory, TASK_FILE)
  task = read_json_object(path)
  task["config"]["decoder_options"] |= values
  write_json_atomically(path, task)


def read_span_config(directory):
  """Reads what a model directory says about text and answers.

  Args:
    directory: a directory, the name of an embedded model, or a preset.

  Returns:
    A dict of head, do_lower_case, window, decoder (not checked) and
    head_is_trained. None if the preset was not saved by this package.
  """
  path = find_model_file(directory, TASK_FILE)
  task = path and _config_of(path)
  if not task or "head_name" not in task:  # KerasHub's tasks have none.
    return None
  _check_types(task, _TASK_TYPES, path)
  path = find_model_file(directory, PREPROCESSOR_FILE)
  if not path:
    raise ValueError(
      f"{directory} has {TASK_FILE} and no {PREPROCESSOR_FILE}. Copy the model "
      "again."
    )
  preprocessor = _config_of(path)
  _check_types(preprocessor, {"options": dict, "tokenizer": dict}, path)
  options_from_json(WindowOptions, preprocessor["options"], f"{path}, options")
  tokenizer = checked_object(
    preprocessor["tokenizer"].get("config"), f"{path}, tokenizer"
  )
  # Only some tokenizers have this argument; the others never lower-case.
  text_options = {"do_lower_case": tokenizer.get("do_lower_case", False)}
  _check_types(text_options, {"do_lower_case": bool}, f"{path}, tokenizer")
  return {
    "head": task["head_name"],
    **text_options,
    "window": preprocessor["options"],
    "decoder": task["decoder_options"],
    "head_is_trained": task["head_is_trained"],
  }


def _config_of(path):
  """Reads the configuration of a Keras object from a JSON file."""
  values = parse_json(read_bytes(path), path)
  return checked_object(checked_object(values, path).get("config"), path)


def _check_types(values, types, path):
  for key, value_type in types.items():
    if not isinstance(values.get(key), value_type):
      raise ValueError(
        f"{path}: {key} must be a JSON {NAMES[value_type]}. Received: "
        f"{shortened(values.get(key))}. Correct it, or save the model again."
      )
