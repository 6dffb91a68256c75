"""Writes Keras' own files of an extractor, each whole or not at all."""

import os

from bert_span.modeling.encoder import merged_weights
from bert_span.modeling.keras_internals import (
  keras_content,
  load_keras_content,
  weights_content,
)
from bert_span.presets.encoder_weights import check_read_back
from bert_span.presets.model_directory import write_keras_folder
from bert_span.storage.atomic_file import write_bytes


def write_keras_file(extractor, path, overwrite, is_folder):
  """Writes a .keras file, or its folder, once its content was read back."""
  _check_overwrite(path, overwrite)
  content = keras_content(extractor)
  parts = extractor, extractor.head, extractor.preprocessor
  classes = {type(part).__name__: type(part) for part in parts}
  read_back = {
    weight.path: weight
    for weight in load_keras_content(content, classes).weights
  }
  check_read_back(merged_weights(extractor), read_back, path)
  if is_folder:
    write_keras_folder(path, content)
  else:
    write_bytes(path, content)


def write_weights_file(extractor, path, overwrite):
  """Writes a .weights.h5 file."""
  _check_overwrite(path, overwrite)
  write_bytes(path, weights_content(extractor))


def _check_overwrite(path, overwrite):
  if not overwrite and os.path.exists(path):
    raise ValueError(
      f"{path} exists. Give another path, or overwrite=True to replace it."
    )
