"""Strings to WordPiece tokens, windows and labels, in TensorFlow ops."""

from bert_span.keras_backend import ensure_tensorflow_backend

ensure_tensorflow_backend()
