"""Checks of the process: Keras' backend, and forks that cannot compute."""

import importlib.util
import os
import sys

_is_broken_fork = False

_PACKAGES = ("tensorflow", "tensorflow_text", "keras", "keras_hub")


def ensure_tensorflow_backend():
  """Imports Keras, and checks that it runs on TensorFlow in float32.

  Keras reads KERAS_BACKEND and keras.json once, when it is first imported.

  Raises:
    ValueError: a package is missing, or Keras is set up otherwise.
  """
  missing = [name for name in _PACKAGES if not importlib.util.find_spec(name)]
  if missing:
    raise ValueError(
      f"{', '.join(missing)} not installed. Every model needs it, even a "
      ".tflite file that ai-edge-litert runs (tokens, windows, decoding). "
      "Install it with pip install -e . in the folder of bert_span. Only the "
      "runners in C++ and the browser need no TensorFlow (docs/tflite.md)."
    )
  # TensorFlow itself would import Keras 2.
  if os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True"):
    raise ValueError(
      "bert_span needs Keras 3, but TF_USE_LEGACY_KERAS asks TensorFlow for "
      "Keras 2. Unset this environment variable."
    )
  remedy = (
    "Before keras is imported, set KERAS_BACKEND=tensorflow, which precedes "
    "keras.json, and let keras.json name no other floatx."
  )
  try:
    import keras  # Seconds, which `import bert_span` and --help do not take.
  except ImportError as error:  # The backend is not installed.
    raise ValueError(f"Keras cannot be imported: {error}. {remedy}") from error
  backend, floatx = keras.config.backend(), keras.config.floatx()
  if (backend, floatx) != ("tensorflow", "float32"):
    raise ValueError(
      "bert_span needs Keras with the backend tensorflow and the floatx "
      f"float32. Received: {backend}, {floatx}. {remedy}"
    )


def check_not_forked():
  """Raises ValueError in a process that can compute nothing.

  TensorFlow's threads do not exist in a fork of a process that has used it:
  loading and answering would wait for them for ever.
  """
  if _is_broken_fork:
    raise ValueError(
      "This process was forked from one that had used TensorFlow, so that it "
      "can compute nothing. Load the model after the fork and not before "
      "(gunicorn without --preload, Celery's worker_process_init), or start "
      'processes with multiprocessing.get_context("spawn").'
    )


def _note_fork():
  """Records, in a fork, whether TensorFlow's threads ran in the parent."""
  global _is_broken_fork
  eager = sys.modules.get("tensorflow.python.eager.context")
  # Every public function that shows it would start the threads or devices.
  context = eager and eager.context_safe()
  _is_broken_fork |= context is not None and context._context_handle is not None


os.register_at_fork(after_in_child=_note_fork)
