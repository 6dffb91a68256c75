"""BERT span extraction in Keras and TensorFlow.

Public names are imported on first use, so that programs refuse flags without
loading TensorFlow. Only then is Keras' backend checked: clients need none.
"""

import importlib

from bert_span.keras_backend import (
  KERAS_CLASSES,
  announce_classes,
  ensure_tensorflow_backend,
)

__version__ = "0.1.0"

_PUBLIC_NAMES = {
  "Answer": "bert_span.answers.decoding.predictions",
  "TFLiteSpanExtractor": "bert_span.tflite.tflite_extractor",
  "fine_tune": "bert_span.fine_tuning.fine_tuner",
  "FineTuningOptions": "bert_span.fine_tuning.options",
  "SquadExample": "bert_span.squad.example",
  "WindowOptions": "bert_span.text.options",
  "DecoderOptions": "bert_span.answers.decoding.options",
  "BioDecoderOptions": "bert_span.answers.decoding.options",
  **KERAS_CLASSES,
}

__all__ = [*_PUBLIC_NAMES, "__version__"]

announce_classes()


def __getattr__(name):
  if name not in _PUBLIC_NAMES:
    raise AttributeError(
      f"module 'bert_span' has no attribute {name!r}; its public names are "
      f"{', '.join(_PUBLIC_NAMES)}"
    )
  ensure_tensorflow_backend()
  return getattr(importlib.import_module(_PUBLIC_NAMES[name]), name)


def __dir__():
  return sorted([*globals(), *_PUBLIC_NAMES])
