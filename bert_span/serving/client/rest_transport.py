"""Questions to a server over TensorFlow Serving's REST API."""

import http.client
import json
import queue
import socket
import ssl
import time

from bert_span.serving.client.retries import (
  RequestRefusedError,
  ServerTimeoutError,
  ServerUnavailableError,
  ServingError,
)

_SIGNATURE = "serving_default"
_CHUNK_BYTES = 1 << 16
_MESSAGE_CHARACTERS = 500
# A server that is starting or full, and proxies in front of one.
_TRY_AGAIN = (429, 502, 503)
_REMEDIES = {
  400: "The request does not fit the model's signature serving_default, or it "
  "has more questions than max_batch_size of the server's batching parameters.",
  401: "Give a valid bearer_token.",
  403: "This bearer_token or client certificate may not ask this model.",
  404: "Check the names of model, version and label against the server's "
  "models.config; GET /v1/models/NAME tells what it has loaded.",
  413: "A proxy finds the request too large: lower batch_size or raise its "
  "limit.",
  504: "Lower batch_size, or raise --rest_api_timeout_in_ms of the server.",
}


class RestTransport:
  """Sends rows of inputs as JSON and reads rows of outputs.

  Connections are kept open between requests, one for each thread that asks at
  the same time. Proxy variables of the environment are not read, and
  redirections not followed.

  Args:
    endpoint: `Endpoint` with the scheme http or https.
    credentials: `Credentials`.
  """

  def __init__(self, endpoint, credentials):
    self._endpoint = endpoint
    self._headers = {
      "Content-Type": "application/json",
      "Accept": "application/json",
    }
    if credentials.bearer_token:
      self._headers["Authorization"] = f"Bearer {credentials.bearer_token}"
    self._context = credentials.ssl_context() if endpoint.is_encrypted else None
    self._idle = queue.LifoQueue()

  def predict(self, rows, timeout):
    """Asks for the outputs of some rows.

    Args:
      rows: list of dicts of input name to str.
      timeout: seconds.

    Returns:
      List of dicts of output name to value.

    Raises:
      ServingError: there are none; see retries.py for its kinds.
    """
    request = {"signature_name": _SIGNATURE, "instances": rows}
    body = json.dumps(request, ensure_ascii=False).encode("utf-8")
    status, headers, content = self._exchange(body, time.monotonic() + timeout)
    if status != 200:
      raise self._refusal(status, headers, content)
    return self._rows(content)

  def close(self):
    """Closes the connections that are not in use."""
    while True:
      try:
        self._idle.get_nowait().close()
      except queue.Empty:
        return

  def _exchange(self, body, end):
    """Sends one request, on a new connection if a kept one has gone stale."""
    try:
      connection, kept = self._idle.get_nowait(), True
    except queue.Empty:
      connection, kept = self._new_connection(), False
    try:
      try:
        reply = self._converse(connection, body, end)
      except (ConnectionError, http.client.BadStatusLine):
        if not kept:
          raise
        connection.close()  # The server closed it while it was idle.
        connection = self._new_connection()
        reply = self._converse(connection, body, end)
    except BaseException as error:
      connection.close()
      if isinstance(error, (OSError, http.client.HTTPException)):
        raise self._failure(error) from error
      raise
    self._idle.put(connection)
    return reply

  def _new_connection(self):
    host, port = self._endpoint.host, self._endpoint.port
    if self._context is None:
      return http.client.HTTPConnection(host, port)
    return http.client.HTTPSConnection(host, port, context=self._context)

  def _converse(self, connection, body, end):
    """Status, headers and content of the reply to one request."""
    connection.timeout = _seconds_until(end)
    if connection.sock is None:
      connection.connect()
      connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A socket's timeout is for one step; so it is set anew before each.
    connection.sock.settimeout(_seconds_until(end))
    path = self._endpoint.predict_path
    connection.request("POST", path, body, self._headers)
    connection.sock.settimeout(_seconds_until(end))
    sock = connection.sock  # getresponse forgets it if the server closes.
    response = connection.getresponse()
    content = b""
    while chunk := response.read1(_CHUNK_BYTES):
      content += chunk
      sock.settimeout(_seconds_until(end))
    left, status, headers = response.length, response.status, response.headers
    response.close()
    if left:
      raise http.client.IncompleteRead(content, left)
    return status, headers, content

  def _failure(self, error):
    """The ServingError of a conversation that broke off."""
    address = self._endpoint.address
    if isinstance(error, TimeoutError):
      return ServerTimeoutError(
        f"{address}: no answer in time. Raise timeout, lower batch_size, or "
        "send shorter passages."
      )
    if isinstance(error, ssl.SSLCertVerificationError):
      return RequestRefusedError(
        f"{address}: its certificate is not trusted: {error.verify_message}. "
        "Give the authority that signed it as ca_file, and ask by a name that "
        "stands in it."
      )
    if isinstance(error, ssl.SSLError):
      return RequestRefusedError(
        f"{address}: TLS failed: {error.reason or error}. Is it a TLS port, "
        "and does the server ask for a client certificate (certificate_file)?"
      )
    if isinstance(error, socket.gaierror):
      return RequestRefusedError(
        f"{address}: the host is not known: {error.strerror}. Check the "
        "address."
      )
    if isinstance(error, ConnectionRefusedError):
      return ServerUnavailableError(
        f"{address}: connection refused. Is the server running, and is this "
        "its REST port (--rest_api_port, often 8501)?"
      )
    return ServerUnavailableError(
      f"{address}: the connection broke off: {error or type(error).__name__}. "
      "Is this a REST port, and not that of gRPC?"
    )

  def _refusal(self, status, headers, content):
    """The ServingError of a reply that is no success."""
    reason = http.client.responses.get(status, "unknown status")
    remedy = _REMEDIES.get(status, "See the server's log.")
    message = (
      f"{self._endpoint.address}: {self._endpoint.target}: HTTP {status} "
      f"({reason}){_server_message(content)}."
    )
    if status in _TRY_AGAIN:
      return ServerUnavailableError(
        f"{message} The server is starting or has too much to do.",
        _retry_after(headers),
      )
    if status == 504:
      return ServerTimeoutError(f"{message} {remedy}")
    if 300 <= status < 400:
      remedy = f"It redirects to {headers.get('Location')!r}: ask there."
    return RequestRefusedError(f"{message} {remedy}")

  def _rows(self, content):
    try:
      reply = json.loads(content)
      if not isinstance(reply["predictions"], list):
        raise TypeError("predictions is no list")
    except (ValueError, LookupError, TypeError) as error:
      raise ServingError(
        f"{self._endpoint.address}: the reply is not TensorFlow Serving's "
        f"({type(error).__name__}: {error}): {_excerpt(content)}. Is this the "
        "address of a model server?"
      ) from error
    return reply["predictions"]


def _seconds_until(end):
  left = end - time.monotonic()
  if left <= 0:
    raise TimeoutError("timed out")
  return left


def _retry_after(headers):
  """Seconds of a Retry-After header; its other form, a date, counts as 0."""
  value = headers.get("Retry-After", "")
  return float(value) if value.isascii() and value.isdigit() else 0.0


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
