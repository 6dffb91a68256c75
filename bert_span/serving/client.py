"""Exports `SpanClient` under `bert_span.serving`, see `bert_span.client`."""

from bert_span.client.span_client import SpanClient

__all__ = ("SpanClient",)
