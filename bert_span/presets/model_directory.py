"""Model directories: presets of KerasHub with a trained task.

KerasHub reads encoder and tokenizer from them without this package.
"""

import io
import os
import zipfile

from bert_span.modeling.architectures import architecture_of
from bert_span.presets import span_config
from bert_span.presets.directory_tokenizer import (
  TOKENIZER_FILES,
  write_directory_tokenizer,
)
from bert_span.presets.directory_weights import (
  CONFIG_FILE,
  HEAD_FILE,
  WEIGHTS_FILE,
  save_backbone,
  save_head,
)
from bert_span.presets.model_card import write_hub_card
from bert_span.presets.selection import SELECTION_FILE, write_selection
from bert_span.storage.atomic_file import (
  replaced_directory,
  write_json_atomically,
)
from bert_span.storage.files import (
  file_sha256,
  is_bare_name,
  is_remote,
  read_json_object,
)

CHECKSUMS_FILE = "checksums.json"
_MODEL_FILES = {
  *(CONFIG_FILE, WEIGHTS_FILE, HEAD_FILE, CHECKSUMS_FILE, "metadata.json"),
  *(span_config.TASK_FILE, span_config.PREPROCESSOR_FILE, SELECTION_FILE),
  *TOKENIZER_FILES,
}
_KERAS_CONFIG = "config.json"  # of a .keras file
# How to write a file, by the ending of its name.
_FILE_REMEDIES = {
  ".keras": "Write the file with extractor.save",
  ".tflite": "Write the file with extractor.export or export_tflite.py",
  ".onnx": "See docs/integrations.md, ONNX",
  ".h5": "Write the file with extractor.save_weights",
}


def save_model(extractor, directory, selection=None, half_precision=False):
  """Writes an extractor as a directory, see `Extractor.save_to_preset`."""
  directory = os.fspath(directory)
  check_folder_name(directory)
  if not is_remote(directory):
    directory = os.path.realpath(directory)
    is_empty = os.path.isdir(directory) and not os.listdir(directory)
    if os.path.lexists(directory) and not is_empty:
      _check_is_model(directory)
  tokenizer = extractor.preprocessor.tokenizer
  with replaced_directory(
    directory,
    last=[span_config.TASK_FILE, SELECTION_FILE],
    keeps=lambda name: name not in _MODEL_FILES,
  ) as unfinished:
    save_backbone(extractor.backbone, unfinished, half_precision)
    if extractor.head_is_trained:
      save_head(extractor, unfinished)
    write_directory_tokenizer(
      unfinished,
      tokenizer.full_vocabulary,
      tokenizer.do_lower_case,
      architecture_of(extractor.backbone),
    )
    write_checksums(unfinished)
    write_selection(unfinished, selection)
    write_hub_card(unfinished, directory, extractor)
    span_config.write_task_files(extractor, unfinished)


def _check_is_model(directory):
  """Refuses to replace a path that is not a model directory."""
  is_folder = os.path.isdir(directory)
  if not is_folder or span_config.read_span_config(directory) is None:
    raise ValueError(
      f"{directory} is not replaced: it has no {span_config.TASK_FILE} of "
      "bert_span, so it is no model of it. Save the model in a new directory."
    )


def write_keras_folder(path, content):
  """Writes the contents of a .keras file as a folder, or nothing.

  Args:
    path: local folder, new or a Keras model to replace.
    content: bytes of the .keras file, a zip archive.
  """
  is_model = os.path.isfile(os.path.join(path, _KERAS_CONFIG))
  if os.path.lexists(path) and not is_model:
    raise ValueError(
      f"{path} is not replaced: it is no folder of a Keras model. Give another "
      "path."
    )
  with zipfile.ZipFile(io.BytesIO(content)) as archive:
    names = {*archive.namelist()}
    with replaced_directory(
      path, last=[_KERAS_CONFIG], keeps=lambda name: name not in names
    ) as unfinished:
      archive.extractall(unfinished)


def write_checksums(directory):
  """Writes checksums.json: the SHA-256 of the model's files."""
  names = [CONFIG_FILE, WEIGHTS_FILE, HEAD_FILE, *TOKENIZER_FILES]
  names = [n for n in names if os.path.exists(os.path.join(directory, n))]
  write_json_atomically(
    os.path.join(directory, CHECKSUMS_FILE),
    {name: file_sha256(os.path.join(directory, name)) for name in names},
  )


def check_checksums(directory):
  """Refuses a local directory whose files differ from its checksums.json."""
  path = os.path.join(directory, CHECKSUMS_FILE)
  if not os.path.exists(path):
    return  # KerasHub's presets have none.
  for name, expected in read_json_object(path).items():
    if not all(map(is_bare_name, name.split("/"))):
      raise ValueError(
        f"{path} names {name!r}, which is no file of the model. Copy the model "
        "again."
      )
    file = os.path.join(directory, name)
    if not os.path.isfile(file) or file_sha256(file) != expected:
      raise ValueError(
        f"{file} is missing or differs from its SHA-256 in {path}. Copy the "
        "model again, or give verify=False if the file was changed on purpose."
      )


def check_folder_name(path):
  """Refuses a folder whose name has the ending of a model file."""
  ending = os.path.splitext(os.fspath(path).rstrip("/"))[1].lower()
  if ending in _FILE_REMEDIES:
    raise ValueError(
      f"{path} would be a folder with the name of a file. "
      f"{_FILE_REMEDIES[ending]}, or give a name without {ending}."
    )
