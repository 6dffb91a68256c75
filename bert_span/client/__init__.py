"""Asks a served model over REST or gRPC."""

from bert_span.client.endpoint import Credentials
from bert_span.client.retries import (
  RequestRefusedError,
  RetryOptions,
  ServerTimeoutError,
  ServerUnavailableError,
  ServingError,
)
from bert_span.client.span_client import SpanClient

__all__ = (
  "Credentials",
  "RequestRefusedError",
  "RetryOptions",
  "ServerTimeoutError",
  "ServerUnavailableError",
  "ServingError",
  "SpanClient",
)
