"""Keras' backend, and the names of our Keras classes.

Keras finds a class such as "bert_span>SpanModel" only after its module is
imported, which `import bert_span` does not do. So Keras' registry gets a
placeholder for each, which imports the module when a saved model needs it.
"""

import importlib
import importlib.util
import json
import os
import sys

KERAS_CLASSES = {
  "SpanExtractor": "bert_span.extractors.span_extractor",
  "BioExtractor": "bert_span.extractors.bio_extractor",
  "SpanHead": "bert_span.modeling.heads",
  "BioHead": "bert_span.modeling.heads",
  "SpanLoss": "bert_span.modeling.losses",
  "BioLoss": "bert_span.modeling.losses",
  "WordPieceTokenizer": "bert_span.text.tokenizer",
  "BytePairTokenizer": "bert_span.text.byte_pair_tokenizer",
  "SlidingWindows": "bert_span.text.windows",
  "SpanPreprocessor": "bert_span.data.preprocessor",
  "BioPreprocessor": "bert_span.data.bio_preprocessor",
  "SpanDecoder": "bert_span.answers.decoding.span_decoder",
  "BioDecoder": "bert_span.answers.decoding.bio_decoder",
  "BertAdamW": "bert_span.training.optimizer",
  "WarmupLinearDecay": "bert_span.training.learning_rate",
  "PretrainingModel": "bert_span.pretraining.model",
  "MaskedLmHead": "bert_span.pretraining.model",
  "SpanBoundaryHead": "bert_span.pretraining.model",
  "QuestionHead": "bert_span.pretraining.model",
  "PredictionTransform": "bert_span.pretraining.model",
  "TiedOutput": "bert_span.pretraining.model",
}


class BackendError(RuntimeError):
  """Keras would run on a backend that bert_span is not written for."""


def ensure_backend_on_import():
  """Runs `ensure_tensorflow_backend` when a room with Keras is imported."""
  # Programs check later, so that --help works and an error is one line.
  if "bert_span.cli" not in sys.modules:
    ensure_tensorflow_backend()


def ensure_tensorflow_backend():
  """Chooses Keras' TensorFlow backend; BackendError if another is set.

  Keras reads its backend once, at its first import: from KERAS_BACKEND, or from
  keras.json, or else TensorFlow. Its floatx is in keras.json only.
  """
  keras = sys.modules.get("keras")
  if hasattr(keras, "config"):
    where = "keras was imported before bert_span with"
    remedy = "Change it before the first import of keras."
    _check("backend", keras.config.backend(), where, remedy)
    _check("floatx", keras.config.floatx(), where, remedy)
    return
  # As keras/src/backend/config.py, which ignores an unreadable file as well.
  home = os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras")
  path = os.path.join(home, "keras.json")
  try:
    with open(path, encoding="utf-8") as config_file:
      settings = dict(json.load(config_file))
  except (OSError, ValueError, TypeError, RecursionError):
    settings = {}
  where, remedy = f"{path} asks for", "Change it there."
  _check("floatx", settings.get("floatx"), where, remedy)
  variable = os.environ.get("KERAS_BACKEND")
  if variable:
    where = "the environment variable KERAS_BACKEND asks for"
    remedy = "Unset it."
  backend = variable or settings.get("backend")
  remedy += " KERAS_BACKEND=tensorflow takes precedence over keras.json."
  _check("backend", backend, where, remedy)
  if os.environ.get("TF_USE_LEGACY_KERAS", "0").lower() not in ("0", "false"):
    raise BackendError(
      "bert_span needs Keras 3, but the environment variable "
      "TF_USE_LEGACY_KERAS asks TensorFlow for Keras 2. Unset it."
    )
  os.environ["KERAS_BACKEND"] = "tensorflow"


def _check(name, value, where, remedy):
  wanted = {"backend": "tensorflow", "floatx": "float32"}[name]
  if value and value != wanted:
    raise BackendError(
      f"bert_span needs Keras with the {name} {wanted}, but {where} the "
      f"{name} {value!r}. {remedy}"
    )


def announce_classes():
  """Registers the names with Keras, now or when it is imported."""
  keras = sys.modules.get("keras")
  if keras is None:
    sys.meta_path.insert(0, _KerasFinder())
  elif hasattr(keras, "saving"):
    _register(keras)


class _KerasFinder:
  """Finds Keras as Python does, and registers the names when it is loaded."""

  def find_spec(self, name, path=None, target=None):
    if name != "keras":
      return None
    sys.meta_path.remove(self)
    spec = importlib.util.find_spec("keras")
    if spec is not None:
      load = spec.loader.exec_module

      def exec_module(module):
        load(module)
        _register(module)

      spec.loader.exec_module = exec_module
    return spec


class _Placeholder:
  """Imports a class when a saved model needs it; KerasHub hashes it."""

  def __init__(self, name):
    self._name = name

  def from_config(self, config):
    module = importlib.import_module(KERAS_CLASSES[self._name])
    return getattr(module, self._name).from_config(config)


def _register(keras):
  classes = keras.saving.get_custom_objects()
  for name in KERAS_CLASSES:
    classes.setdefault(f"bert_span>{name}", _Placeholder(name))
