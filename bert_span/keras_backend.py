"""Makes sure that Keras runs on TensorFlow before it is imported."""

import json
import os
import sys


class BackendError(RuntimeError):
  """Keras would run on a backend that bert_span is not written for."""


def ensure_tensorflow_backend():
  """Chooses Keras' TensorFlow backend, or says clearly why it cannot.

  Keras reads its backend once, at its first import: from the environment
  variable KERAS_BACKEND, else from keras.json, else TensorFlow. bert_span is
  written in TensorFlow ops, so nothing else will do. The rooms that import
  Keras call this before they do.

  Raises:
    BackendError: another backend was asked for, or Keras is already loaded
      with another one. The message says where the request stands and how to
      change it.
  """
  if "keras" in sys.modules and hasattr(sys.modules["keras"], "config"):
    backend = sys.modules["keras"].config.backend()
    if backend != "tensorflow":
      raise BackendError(
        "bert_span needs Keras on its TensorFlow backend, but keras was "
        f"imported before bert_span with the backend {backend!r}. Set "
        "KERAS_BACKEND=tensorflow before the first import of keras."
      )
    return
  backend = os.environ.get("KERAS_BACKEND")
  if backend:
    where = "the environment variable KERAS_BACKEND asks for"
    remedy = "Unset it or set KERAS_BACKEND=tensorflow."
  else:
    path = _keras_config_path()
    backend = _configured_backend(path)
    where = f"{path} asks for"
    remedy = (
      'Change "backend" there to "tensorflow", or set '
      "KERAS_BACKEND=tensorflow, which takes precedence."
    )
  if backend and backend != "tensorflow":
    raise BackendError(
      "bert_span needs Keras on its TensorFlow backend, but "
      f"{where} {backend!r}. {remedy}"
    )
  os.environ["KERAS_BACKEND"] = "tensorflow"


def _keras_config_path():
  """Where Keras looks for keras.json (see keras/src/backend/config.py)."""
  home = os.environ.get("KERAS_HOME") or os.path.join(
    os.path.expanduser("~"), ".keras"
  )
  return os.path.join(home, "keras.json")


def _configured_backend(path):
  """The "backend" of a keras.json, or None where there is none to read."""
  try:
    with open(path, encoding="utf-8") as config_file:
      config = json.load(config_file)
  except (OSError, ValueError):  # Keras ignores an unreadable file as well.
    return None
  return config.get("backend") if isinstance(config, dict) else None
