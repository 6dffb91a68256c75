"""The backend of Keras that bert_span is written for."""

import importlib.util
import os

_PACKAGES = ("tensorflow", "tensorflow_text", "keras", "keras_hub")


def ensure_tensorflow_backend():
  """Imports Keras; ValueError unless it runs on TensorFlow in float32.

  A package that is missing is named first.

  Keras reads KERAS_BACKEND and keras.json once, when it is first imported.
  """
  missing = [name for name in _PACKAGES if not importlib.util.find_spec(name)]
  if missing:
    raise ValueError(
      f"{', '.join(missing)} not installed. Every model needs it, a .tflite "
      "file that ai-edge-litert runs, too (tokens, windows, decoding). Install "
      "it with pip install -e . in the folder of bert_span. Without TensorFlow "
      "the runners in C++ and the browser answer (docs/tflite.md)."
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
