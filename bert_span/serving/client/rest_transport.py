"""Questions to a server over TensorFlow Serving's REST API."""

import json
import socket
import ssl
import time

import urllib3

from bert_span.serving.client.retries import (
  RequestRefusedError,
  ServerTimeoutError,
  ServerUnavailableError,
  ServingError,
)

_SIGNATURE = "serving_default"
_CHUNK_BYTES = 1 << 16
_MESSAGE_CHARACTERS = 500
# Connections that stay open; each thread that asks at the same time has one.
_MAX_CONNECTIONS = 64
# A server that is starting or full, and proxies in front of one.
_TRY_AGAIN = (429, 502, 503)
_REMEDIES = {
  400: "The request does not fit the model's signature serving_default, or it "
  "has more questions than max_batch_size of the server's batching parameters.",
  401: "Give a valid bearer_token.",
  403: "This bearer_token or client certificate may not ask this model.",
  404: "Check the names of model, version and label against the server's "
  "models.config; GET /v1/models/NAME lists what it has loaded.",
  413: "A proxy finds the request too large: lower batch_size or raise its "
  "limit.",
  504: "Lower batch_size, or raise --rest_api_timeout_in_ms of the server.",
}


class RestTransport:
  """Sends rows of inputs as JSON and reads rows of outputs.

  Threads may share it. It ignores the environment's proxy variables and does
  not follow redirections.
  """

  def __init__(self, endpoint, credentials):
    self._endpoint = endpoint
    tls = credentials.ssl_context() if endpoint.is_encrypted else None
    self._connections = urllib3.PoolManager(
      maxsize=_MAX_CONNECTIONS, ssl_context=tls
    )
    self._headers = {
      "Content-Type": "application/json",
      "Accept": "application/json",
    }
    if credentials.bearer_token:
      self._headers["Authorization"] = f"Bearer {credentials.bearer_token}"

  def predict(self, rows, timeout):
    """The rows of outputs, dicts, of rows of inputs.

    Args:
      rows: list of dicts of input name to str.
      timeout: seconds.

    Raises:
      ServingError: there are none; see retries.py for its kinds.
    """
    request = {"signature_name": _SIGNATURE, "instances": rows}
    body = json.dumps(request, ensure_ascii=False).encode("utf-8")
    try:
      response, content = self._exchange(body, time.monotonic() + timeout)
    except (urllib3.exceptions.HTTPError, OSError) as error:
      raise self._failure(error) from error
    if response.status != 200:
      raise self._refusal(response, content)
    try:
      predictions = json.loads(content)["predictions"]
      if not isinstance(predictions, list):
        raise TypeError("predictions is no list")
    except (ValueError, LookupError, TypeError) as error:
      raise ServingError(
        f"{self._endpoint.address}: the reply is not TensorFlow Serving's "
        f"({type(error).__name__}: {error}): {_excerpt(content)}. Is this the "
        "address of a model server?"
      ) from error
    return predictions

  def close(self):
    """Closes the connections that are not in use."""
    self._connections.clear()

  def _exchange(self, body, end):
    """The response to one request and its content, before the time `end`."""
    response = self._connections.request(
      "POST",
      self._endpoint.predict_url,
      body=body,
      headers=self._headers,
      redirect=False,
      retries=False,
      timeout=urllib3.Timeout(total=_seconds_until(end)),
      preload_content=False,
    )
    try:
      sock = response.connection.sock  # None if the server closes it
      content = b""
      while chunk := response.read1(_CHUNK_BYTES):
        content += chunk
        # urllib3's timeout is for one read; a slow reply has many.
        left = _seconds_until(end)
        if sock:
          sock.settimeout(left)
    except BaseException:
      response.close()
      raise
    response.release_conn()
    return response, content

  def _failure(self, error):
    """The ServingError of a request without a reply."""
    address = self._endpoint.address
    cause = error.__cause__ or error.__context__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
      return RequestRefusedError(
        f"{address}: its certificate is not trusted: {cause.verify_message}. "
        "Give the authority that signed it as ca_file, and use a name that "
        "the certificate contains."
      )
    if isinstance(cause, ssl.SSLError):
      return RequestRefusedError(
        f"{address}: TLS failed: {cause.reason or cause}. Is it a TLS port, "
        "and does the server ask for a client certificate (certificate_file)?"
      )
    if isinstance(cause, socket.gaierror):
      return RequestRefusedError(
        f"{address}: the host is unknown: {cause.strerror}. Check the address."
      )
    if isinstance(cause, ConnectionRefusedError):
      return ServerUnavailableError(
        f"{address}: connection refused. Is the server running, and is this "
        "its REST port (--rest_api_port, often 8501)?"
      )
    is_timeout = isinstance(
      error, (TimeoutError, urllib3.exceptions.TimeoutError)
    )
    if is_timeout and not isinstance(
      error, urllib3.exceptions.NewConnectionError
    ):
      return ServerTimeoutError(
        f"{address}: no answer in time. Raise timeout, lower batch_size, or "
        "send shorter passages."
      )
    return ServerUnavailableError(
      f"{address}: the connection broke off: {error or type(error).__name__}. "
      "Is this a REST port, and not that of gRPC?"
    )

  def _refusal(self, response, content):
    """The ServingError of a reply that is no success."""
    status = response.status
    message = (
      f"{self._endpoint.address}: {self._endpoint.target}: HTTP {status} "
      f"({response.reason}){_server_message(content)}."
    )
    if status in _TRY_AGAIN:
      return ServerUnavailableError(
        f"{message} The server is starting or has too much to do.",
        _retry_after(response),
      )
    if 300 <= status < 400:
      location = response.headers.get("Location")
      return RequestRefusedError(
        f"{message} It redirects to {location!r}: ask there."
      )
    message = f"{message} {_REMEDIES.get(status, 'See the server log.')}"
    if status == 504:
      return ServerTimeoutError(message)
    return RequestRefusedError(message)


def _seconds_until(end):
  left = end - time.monotonic()
  if left <= 0:
    raise TimeoutError
  return left


def _retry_after(response):
  """Seconds that the server asks to wait; 0.0 without a valid Retry-After."""
  try:
    return urllib3.Retry().get_retry_after(response) or 0.0
  except urllib3.exceptions.InvalidHeader:
    return 0.0


def _server_message(content):
  """What the server says, as TensorFlow Serving ({"error": ..}) or in text."""
  try:
    text = json.loads(content)["error"]
  except (ValueError, LookupError, TypeError):
    return f": {_excerpt(content)}" if content.strip() else ""
  return f": {str(text)[:_MESSAGE_CHARACTERS].rstrip('. ')}"


def _excerpt(content):
  text = content[:_MESSAGE_CHARACTERS].decode("utf-8", "backslashreplace")
  return repr(" ".join(text.split()))
