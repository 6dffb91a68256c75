"""The selection.json of a model directory: which score selected the model."""

import os

import tensorflow as tf

from bert_span.storage.atomic_file import write_json_atomically
from bert_span.storage.files import read_json

SELECTION_FILE = "selection.json"


def write_selection(directory, selection):
  """Writes selection.json, a dict of step, metric, scores; None removes it."""
  path = os.path.join(directory, SELECTION_FILE)
  if selection is not None:
    write_json_atomically(path, selection)
  elif tf.io.gfile.exists(path):
    tf.io.gfile.remove(path)


def read_selection(directory):
  """Reads selection.json; None for a model that no score selected."""
  path = os.path.join(os.fspath(directory), SELECTION_FILE)
  if not tf.io.gfile.exists(path):
    return None
  try:
    selection = read_json(path)
    selection = {name: selection[name] for name in ("step", "metric", "scores")}
    format(selection["scores"][selection["metric"]], ".5g")
    return selection
  except (ValueError, LookupError, TypeError) as error:
    raise ValueError(
      f"{path}: not the selection.json of a model ({error}). Remove the file."
    ) from error


def selection_words(directory):
  """Describes the selection: ", the best by f1: step 300, f1 72.27" or ""."""
  selection = read_selection(directory)
  if selection is None:
    return ""
  metric, step = selection["metric"], selection["step"]
  score = selection["scores"][metric]
  return f", the best by {metric}: step {step}, {metric} {score:.5g}"
