"""Asking a served model over REST or gRPC."""

from bert_span.client.endpoint import Credentials
from bert_span.client.retries import RetryOptions
from bert_span.client.span_client import SpanClient

__all__ = ("Credentials", "RetryOptions", "SpanClient")
