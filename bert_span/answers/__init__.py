"""Logits to spans, spans to text, text to official scores."""

from bert_span.keras_backend import ensure_backend_on_import

ensure_backend_on_import()
