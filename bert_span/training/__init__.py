"""Optimizer, schedule, training loop and checkpoints."""

from bert_span.keras_backend import ensure_backend_on_import

ensure_backend_on_import()
