"""span_config.json: what a model directory says about text and answers."""

import dataclasses
import json
import os

import tensorflow as tf

from bert_span.presets.embedded_model import find_embedded_model
from bert_span.storage.atomic_file import write_text_atomically

CONFIG_FILE = "span_config.json"
_FORMAT_VERSION = 1


def write_span_config(
  directory, do_lower_case, window_options, decoder_options, head
):
  """Writes span_config.json into a model directory.

  Args:
    directory: the model directory.
    do_lower_case: whether text is lower-cased and loses its accents.
    window_options: `WindowOptions`.
    decoder_options: those of the head.
    head: name of the `AnswerHead`.
  """
  config = span_config(do_lower_case, window_options, decoder_options, head)
  write_text_atomically(
    os.path.join(directory, CONFIG_FILE), json.dumps(config, indent=2) + "\n"
  )


def span_config(do_lower_case, window_options, decoder_options, head):
  """What a model says about text and answers, as JSON can hold it.

  Args:
    do_lower_case, window_options, decoder_options, head: see
      `write_span_config`.

  Returns:
    Dict of format, head, do_lower_case, window, decoder.
  """
  return {
    "format": _FORMAT_VERSION,
    "head": head,
    "do_lower_case": do_lower_case,
    "window": dataclasses.asdict(window_options),
    "decoder": dataclasses.asdict(decoder_options),
  }


def update_decoder(directory, values):
  """Changes decoding options in a model directory's span_config.json.

  Args:
    directory: a model directory that has the file.
    values: dict of option to its new value; the others stay.
  """
  config = read_span_config(directory)
  config["decoder"] = {**config["decoder"], **values}
  write_text_atomically(
    os.path.join(directory, CONFIG_FILE), json.dumps(config, indent=2) + "\n"
  )


def read_span_config(directory):
  """Reads a model directory's span_config.json.

  Args:
    directory: any path of tf.io.gfile, or a name: of a model that comes with
      the package, or of something that is no directory.

  Returns:
    Dict of format, head, do_lower_case, window, decoder; None where there is
    no such file.

  Raises:
    ValueError: the file is damaged, or of a later version.
  """
  path = os.path.join(find_embedded_model(directory), CONFIG_FILE)
  if not _exists(path):
    return None
  with tf.io.gfile.GFile(path) as file:
    return parse_span_config(file.read(), path)


def parse_span_config(text, path):
  """Reads the text of a span_config.json.

  Args:
    text: str.
    path: where it stands, for messages.

  Returns:
    Dict of format, head, do_lower_case, window, decoder.

  Raises:
    ValueError: the text is damaged, or of a later version.
  """
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
      f"{path}: format {config.get('format')!r} with head "
      f"{config.get('head')!r} is not known to this version of bert_span, "
      f"which reads format {_FORMAT_VERSION}. Update bert_span."
    )
  return config


def _exists(path):
  try:
    return tf.io.gfile.exists(path)
  except tf.errors.UnimplementedError:  # A handle such as hf://, no file.
    return False
