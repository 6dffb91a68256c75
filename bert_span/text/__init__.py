"""Strings to WordPiece tokens, windows and labels, in TensorFlow ops."""

from bert_span.keras_backend import ensure_backend_on_import

ensure_backend_on_import()
