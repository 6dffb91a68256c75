"""The best model of a run, and selection.json in its directory."""

import json
import os

import tensorflow as tf

from bert_span.storage.atomic_file import write_text_atomically
from bert_span.storage.files import read_json

SELECTION_FILE = "selection.json"


class BestModel:
  """Keeps the model with the best score in a run's model directory.

  Args:
    directory: the model directory.
    write: function of a dict that writes the current model to `directory`,
      on a local disk atomically, with the dict as selection.json.
  """

  def __init__(self, directory, write):
    self._directory = directory
    self._write = write

  def save(self, step, metric, scores):
    """Replaces the saved model with the current one, the best by `metric`."""
    self._write({"step": step, "metric": metric, "scores": scores})

  def check_kept(self):
    """Refuses to continue a run whose best model is gone."""
    if read_selection(self._directory) is None:
      raise ValueError(
        f"The best model so far is gone from {self._directory}, and the run is "
        "past its step. Put it back, or use another --output_dir to begin "
        "again."
      )


def write_selection(directory, selection):
  """Writes selection.json, a dict of step, metric and scores.

  None removes the file, for a model that was not chosen by a score.
  """
  path = os.path.join(directory, SELECTION_FILE)
  if selection is not None:
    write_text_atomically(path, json.dumps(selection, indent=2) + "\n")
  elif tf.io.gfile.exists(path):
    tf.io.gfile.remove(path)


def read_selection(directory):
  """Reads selection.json; None for a model not chosen by a score."""
  path = os.path.join(os.fspath(directory), SELECTION_FILE)
  if not tf.io.gfile.exists(path):
    return None
  try:
    selection = read_json(path)
    return {name: selection[name] for name in ("step", "metric", "scores")}
  except (ValueError, KeyError, TypeError) as error:
    raise ValueError(
      f"{path}: not the selection.json of a model ({error}). Remove the file; "
      "the model does not need it."
    ) from error


def selection_words(directory):
  """How a model was chosen: ", the best by f1: step 300, f1 72.27" or ""."""
  selection = read_selection(directory)
  if selection is None:
    return ""
  metric = selection["metric"]
  return (
    f", the best by {metric}: step {selection['step']}, {metric} "
    f"{selection['scores'][metric]:.5g}"
  )
