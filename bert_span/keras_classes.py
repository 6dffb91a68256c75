"""The package's Keras classes, which Keras finds by name in its files.

Keras knows a class, such as "bert_span>SpanModel", once its module is imported.
`import bert_span` loads none of these modules, nor Keras itself. So as soon as
Keras is imported, each name gets a placeholder in its registry that imports the
module when a file is loaded that needs it.
"""

import importlib
import importlib.util
import sys

KERAS_CLASSES = {
  "SpanModel": "bert_span.modeling.span_model",
  "SpanHead": "bert_span.modeling.span_head",
  "BioHead": "bert_span.modeling.bio_head",
  "SpanLoss": "bert_span.modeling.span_loss",
  "BioLoss": "bert_span.modeling.bio_loss",
  "WordPieceTokenizer": "bert_span.text.tokenizer",
  "SlidingWindows": "bert_span.text.windows",
  "AnswerPositions": "bert_span.text.answer_positions",
  "SpanPreprocessor": "bert_span.text.preprocessor",
  "SpanDecoder": "bert_span.answers.decoding.span_decoder",
  "BioDecoder": "bert_span.answers.decoding.bio_decoder",
  "BertAdamW": "bert_span.training.optimizer",
  "WarmupLinearDecay": "bert_span.training.learning_rate",
  "PretrainingModel": "bert_span.pretraining.heads.model",
  "MaskedLmHead": "bert_span.pretraining.heads.masked_lm_head",
  "SpanBoundaryHead": "bert_span.pretraining.heads.span_boundary_head",
  "PredictionTransform": "bert_span.pretraining.heads.tied_output",
  "TiedOutput": "bert_span.pretraining.heads.tied_output",
}


def announce_classes():
  """Registers the names with Keras, now or when it is imported."""
  keras = sys.modules.get("keras")
  if keras is None:
    sys.meta_path.insert(0, _KerasFinder())
  elif hasattr(keras, "saving"):
    _register(keras)


class _KerasFinder:
  """Finds Keras as Python does, and registers the names once it is loaded."""

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
  """Stands for a class whose module need not be imported yet."""

  def __init__(self, name):
    self._name = name

  def from_config(self, config):
    module = importlib.import_module(KERAS_CLASSES[self._name])
    return getattr(module, self._name).from_config(config)


def _register(keras):
  classes = keras.saving.get_custom_objects()
  for name in KERAS_CLASSES:
    classes.setdefault(f"bert_span>{name}", _Placeholder(name))
