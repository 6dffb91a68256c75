"""Sends questions to a server over TensorFlow Serving's REST API."""

import http.client
import io
import json
import os
import time

import urllib3
from urllib3 import exceptions

from bert_span.client.predict_api import SERVING_DEFAULT
from bert_span.client.retries import (
  RequestRefusedError,
  ServingError,
  serving_error,
)

_MAX_REPLY_BYTES = 1 << 28
_MAX_IDLE_CONNECTIONS = 256
_MESSAGE_CHARACTERS = 500
# Status codes of servers, and of proxies before them -> the codes of gRPC.
_CODES = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  413: "RESOURCE_EXHAUSTED",
  **dict.fromkeys((429, 502, 503), "UNAVAILABLE"),
  504: "DEADLINE_EXCEEDED",
}


class RestTransport:
  """Sends rows of inputs as JSON and reads rows of outputs.

  Threads may use it together; a forked process opens new connections. It
  ignores the environment's proxy variables and does not follow redirections.
  """

  def __init__(self, endpoint, credentials):
    self._endpoint = endpoint
    headers = {"Accept": "application/json"}
    if credentials.bearer_token:
      headers["Authorization"] = f"Bearer {credentials.bearer_token}"
    options = {"maxsize": _MAX_IDLE_CONNECTIONS, "headers": headers}
    if endpoint.is_encrypted:
      options["ssl_context"] = credentials.ssl_context()
    self._options = options
    self._connect()

  def predict(self, rows, timeout):
    """Returns the rows of outputs for rows of inputs, dicts by name.

    Raises a `ServingError` if they do not come within `timeout` seconds.
    """
    if self._process != os.getpid():
      # On the parent's connections, the parent could get the child's replies.
      self._connect()
    try:
      response = self._pool.request(
        "POST",
        self._endpoint.predict_path,
        json={"signature_name": SERVING_DEFAULT, "instances": rows},
        retries=False,
        redirect=False,
        timeout=urllib3.Timeout(total=timeout),
        preload_content=False,
        decode_content=False,
      )
      content = bytearray()
      for piece in response.stream():
        content += piece
        if len(content) > _MAX_REPLY_BYTES:
          response.close()
          raise ServingError(
            f"{self._endpoint.address}: the reply is longer than "
            f"{_MAX_REPLY_BYTES:,} bytes. Lower batch_size."
          )
    # A chunk with a negative length raises ValueError.
    except (exceptions.HTTPError, ValueError) as error:
      raise _failure(self._endpoint.address, error) from error
    if response.status != 200:
      raise self._refusal(response, content)
    predictions = _field(content, "predictions")
    if not isinstance(predictions, list):
      raise ServingError(
        f"{self._endpoint.address}: the reply has no list of predictions: "
        f"{_excerpt(content)}. Is it a model server?"
      )
    return predictions

  def close(self):
    """Closes the connections that are not in use."""
    self._pool.close()

  def _connect(self):
    """Makes a new pool of connections for this process."""
    self._process = os.getpid()
    pool = urllib3.connection_from_url(self._endpoint.address, **self._options)

    class Connection(pool.ConnectionCls):  # over HTTP or HTTPS
      response_class = _TimedReply

    pool.ConnectionCls = Connection
    self._pool = pool

  def _refusal(self, response, content):
    """Returns the `ServingError` of a reply with an error status."""
    status = f"HTTP {response.status} ({response.reason})"
    message = f"{self._endpoint.address}: {self._endpoint.target}: {status}"
    reason = _field(content, "error")  # TensorFlow Serving's {"error": ..}
    if isinstance(reason, str):
      message += f": {reason[:_MESSAGE_CHARACTERS].rstrip('. ')}"
    elif content.strip():
      message += f": {_excerpt(content)}"
    if 300 <= response.status < 400:
      location = response.headers.get("Location")
      return RequestRefusedError(f"{message}. Ask {location!r} instead.")
    try:
      retry_after = urllib3.Retry().get_retry_after(response) or 0.0
    except (exceptions.InvalidHeader, ValueError, OverflowError):
      retry_after = 0.0  # The header is neither a number nor a date.
    return serving_error(_CODES.get(response.status), message, retry_after)


class _TimedReply(http.client.HTTPResponse):
  """A reply that must be complete within the timeout of the socket.

  urllib3's Timeout is for each read. A server that sends the head, or the
  length of a chunk, byte by byte would keep its client waiting for ever.
  """

  def __init__(self, sock, *args, **kwargs):
    super().__init__(sock, *args, **kwargs)
    self.fp = io.BufferedReader(_TimedFile(sock, self.fp.detach()))


class _TimedFile(io.RawIOBase):
  def __init__(self, sock, file):
    self._sock, self._file = sock, file
    self._end = time.monotonic() + sock.gettimeout()

  def readable(self):
    return True

  def readinto(self, buffer):
    seconds = self._end - time.monotonic()
    if seconds <= 0:
      raise TimeoutError
    self._sock.settimeout(seconds)
    return self._file.readinto(buffer)

  def close(self):
    self._file.close()
    super().close()


def _failure(address, error):
  """Returns the `ServingError` of a request without a reply."""
  cause = error.__cause__ or error.args[-1]
  reason = str(cause)[:_MESSAGE_CHARACTERS]
  if isinstance(error, exceptions.SSLError):
    return RequestRefusedError(
      f"{address}: {reason}. Is it a TLS port? ca_file must have the authority "
      "of its certificate, and that must name this host. Give certificate_file "
      "if the server asks for one."
    )
  if isinstance(
    error, exceptions.NameResolutionError | exceptions.LocationParseError
  ):
    return RequestRefusedError(
      f"{address}: the host is unknown: {reason}. Check the address."
    )
  is_late = isinstance(error, exceptions.ReadTimeoutError)
  if is_late or isinstance(cause, TimeoutError):
    return serving_error("DEADLINE_EXCEEDED", f"{address}: no answer in time")
  return serving_error("UNAVAILABLE", f"{address}: no connection: {reason}")


def _field(content, name):
  """Returns a field of a JSON object; None if the content has none."""
  try:
    return json.loads(content)[name]
  except (ValueError, LookupError, TypeError, RecursionError):
    return None


def _excerpt(content):
  text = content[:_MESSAGE_CHARACTERS].decode("utf-8", "backslashreplace")
  return repr(" ".join(text.split()))
