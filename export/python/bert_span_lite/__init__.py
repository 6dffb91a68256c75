"""Answers questions from a .tflite file of bert_span, without TensorFlow."""

from bert_span_lite.answer import Answer, Prediction
from bert_span_lite.span_extractor import SpanExtractor

__all__ = ["Answer", "Prediction", "SpanExtractor"]
__version__ = "1.0.0"
