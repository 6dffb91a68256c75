"""Where a model comes from: the files about its training, and the packages."""

import importlib.metadata
import os

import bert_span
from bert_span.presets.model_card import is_written_here
from bert_span.presets.span_config import MODEL_CARD, find_model_file
from bert_span.storage.files import read_bytes, read_json

_PACKAGES = ("tensorflow", "tensorflow-text", "keras", "keras-hub")
_TRAINING_FILES = {
  "card": MODEL_CARD,
  "metadata": "metadata.json",
  "options": "training_options.json",
  "flags": "run.flags",
  "scores": "eval_results.json",
}


def package_versions():
  """Returns the versions of bert_span and of packages that exports need."""
  return {
    "bert_span": bert_span.__version__,
    **{package: importlib.metadata.version(package) for package in _PACKAGES},
  }


def training_run(model):
  """Returns what files say about the training of a model.

  Args:
    model: a directory or name. For run_squad's output_dir/model, files are read
      from output_dir, too.

  Returns:
    A dict with some of the keys card, metadata, options, flags and scores, of
    JSON values or lists of lines.
  """
  folders = [model]
  if os.path.basename(os.path.normpath(model)) == "model":
    folders.append(os.path.dirname(os.path.abspath(model)))
  run = {}
  for key, name in _TRAINING_FILES.items():
    paths = (find_model_file(folder, name) for folder in folders)
    path = next((p for p in paths if p and not is_written_here(p)), None)
    if path and name.endswith(".json"):
      run[key] = read_json(path)
    elif path:
      run[key] = read_bytes(path).decode("utf-8-sig", "replace").splitlines()
  return run
