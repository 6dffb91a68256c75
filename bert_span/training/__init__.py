"""Optimizer, schedule, training loop and checkpoints."""

from bert_span.keras_backend import ensure_tensorflow_backend

ensure_tensorflow_backend()
