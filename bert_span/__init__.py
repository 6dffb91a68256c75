"""BERT span extraction in Keras and TensorFlow.

Public names are imported on first use, so that `import bert_span`, options and
the client load no TensorFlow. Keras can load a saved model once the model's
class was used or imported: `from bert_span import SpanExtractor`.
"""

import importlib

from bert_span.keras_backend import ensure_tensorflow_backend

__version__ = "1.0.0"

# Modules of the names that need Keras, and of those that do not.
_KERAS_NAMES = {
  "Extractor": "bert_span.extractors.extractor",
  "SpanExtractor": "bert_span.extractors.span_extractor",
  "BioExtractor": "bert_span.extractors.bio_extractor",
  "PassageAnswer": "bert_span.extractors.span_extractor",
  "fine_tune": "bert_span.training.fine_tuner",
  "TFLiteSpanExtractor": "bert_span.tflite.tflite_extractor",
  "MobileBertBackbone": "bert_span.modeling.mobilebert",
  "ModernBertBackbone": "bert_span.modeling.modernbert",
  "SpanHead": "bert_span.modeling.heads",
  "BioHead": "bert_span.modeling.heads",
  "SpanLoss": "bert_span.modeling.losses",
  "BioLoss": "bert_span.modeling.losses",
  "WordPieceTokenizer": "bert_span.text.tokenizer",
  "BytePairTokenizer": "bert_span.text.byte_pair_tokenizer",
  "ModernBertTokenizer": "bert_span.text.modernbert_tokenizer",
  "SentencePieceTokenizer": "bert_span.text.sentencepiece_tokenizer",
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
}
_PLAIN_NAMES = {
  "SpanClient": "bert_span.client.span_client",
  "Answer": "bert_span.answers.answer",
  "Prediction": "bert_span.answers.answer",
  "FineTuningOptions": "bert_span.training.fine_tuning_options",
  "SquadExample": "bert_span.squad.example",
  "AnswerSpan": "bert_span.squad.example",
  "read_squad": "bert_span.squad.reader",
  "WindowOptions": "bert_span.text.options",
  "DecoderOptions": "bert_span.answers.decoding.options",
  "BioDecoderOptions": "bert_span.answers.decoding.options",
}
_PUBLIC_NAMES = {**_KERAS_NAMES, **_PLAIN_NAMES}

__all__ = [*_PUBLIC_NAMES, "__version__"]


def __getattr__(name):
  if name not in _PUBLIC_NAMES:
    raise AttributeError(
      f"module 'bert_span' has no attribute {name!r}; its public names are "
      f"{', '.join(_PUBLIC_NAMES)}"
    )
  if name in _KERAS_NAMES:
    ensure_tensorflow_backend()
  return getattr(importlib.import_module(_PUBLIC_NAMES[name]), name)


def __dir__():
  return sorted([*globals(), *_PUBLIC_NAMES])
