"""Encoder, heads, losses and the import of checkpoints; knows no strings."""

from bert_span.keras_backend import ensure_tensorflow_backend

ensure_tensorflow_backend()
