"""span_config.json: what a model directory says about text and answers."""

import dataclasses
import json
import os

import tensorflow as tf

from bert_span.presets.installed_models import find_embedded_model
from bert_span.storage.atomic_file import write_text_atomically

CONFIG_FILE = "span_config.json"
_FORMAT_VERSION = 1


def span_config(do_lower_case, window_options, decoder_options, head):
  """What a model says about text and answers, a dict of JSON values.

  `decoder_options` are those of the head, and `head` is the name of the
  `AnswerHead`.
  """
  return {
    "format": _FORMAT_VERSION,
    "head": head,
    "do_lower_case": do_lower_case,
    "window": dataclasses.asdict(window_options),
    "decoder": dataclasses.asdict(decoder_options),
  }


def write_span_config(
  directory, do_lower_case, window_options, decoder_options, head
):
  """Writes a `span_config` into a model directory."""
  _write(
    directory,
    span_config(do_lower_case, window_options, decoder_options, head),
  )


def update_decoder(directory, values):
  """Changes some decoding options in a model directory's span_config.json."""
  config = read_span_config(directory)
  config["decoder"] = {**config["decoder"], **values}
  _write(directory, config)


def read_span_config(directory):
  """Reads a `span_config`; None if the directory has none.

  `directory` is any path of tf.io.gfile, or the name of a model that comes with
  the package. ValueError if the file is damaged, or of a later version.
  """
  path = os.path.join(find_embedded_model(directory), CONFIG_FILE)
  try:
    if not tf.io.gfile.exists(path):
      return None
  except tf.errors.UnimplementedError:  # A handle such as hf://, no file.
    return None
  with tf.io.gfile.GFile(path) as file:
    return parse_span_config(file.read(), path)


def parse_span_config(text, path):
  """The `span_config` in a text; `path` is its location, for messages."""
  try:
    config = json.loads(text)
  except ValueError as error:
    raise ValueError(f"{path}: not JSON: {error}. Save the model again.") from (
      error
    )
  if not isinstance(config, dict):
    config = {}
  if config.get("format") != _FORMAT_VERSION or "head" not in config:
    raise ValueError(
      f"{path}: this version of bert_span reads format {_FORMAT_VERSION} with "
      f"a head. Received: format {config.get('format')!r} with head "
      f"{config.get('head')!r}. Update bert_span."
    )
  return config


def _write(directory, config):
  write_text_atomically(
    os.path.join(directory, CONFIG_FILE), json.dumps(config, indent=2) + "\n"
  )
