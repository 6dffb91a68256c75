"""Questions to a server over TensorFlow Serving's REST API."""

import contextlib
import email.utils
import functools
import http.client
import json
import socket
import ssl
import threading
import time

from bert_span.client.retries import (
  RequestRefusedError,
  ServingError,
  serving_error,
)

_MAX_REPLY_BYTES = 1 << 28
_MESSAGE_CHARACTERS = 500
# The codes of gRPC for the status codes of servers, and of proxies before them.
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

  Threads may share it. It ignores the environment's proxy variables and does
  not follow redirections.
  """

  def __init__(self, endpoint, credentials):
    self._endpoint = endpoint
    self._connection_type = http.client.HTTPConnection
    if endpoint.is_encrypted:
      self._connection_type = functools.partial(
        http.client.HTTPSConnection, context=credentials.ssl_context()
      )
    self._idle = []  # Open connections that no thread uses.
    json_type = "application/json"
    self._headers = {"Content-Type": json_type, "Accept": json_type}
    if credentials.bearer_token:
      self._headers["Authorization"] = f"Bearer {credentials.bearer_token}"

  def predict(self, rows, timeout):
    """Returns the rows of outputs for rows of inputs, dicts of name to value.

    Raises a `ServingError` if there are none within `timeout` seconds.
    """
    request = {"signature_name": "serving_default", "instances": rows}
    body = json.dumps(request, ensure_ascii=False).encode("utf-8")
    try:
      response, content = self._post(body, time.monotonic() + timeout)
    except (OSError, http.client.HTTPException, UnicodeError) as error:
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
    while connection := self._idle_connection():
      connection.close()

  def _idle_connection(self):
    with contextlib.suppress(IndexError):
      return self._idle.pop()

  def _post(self, body, end):
    """The response to one request and its content, before the time `end`."""
    while connection := self._idle_connection():
      # The server may have closed it meanwhile.
      with contextlib.suppress(ConnectionError, ssl.SSLError):
        return self._exchange(connection, body, end)
    connection = self._connection_type(
      self._endpoint.host, self._endpoint.port, timeout=_seconds_until(end)
    )
    connection.connect()
    return self._exchange(connection, body, end)

  def _exchange(self, connection, body, end):
    """One request over an open connection."""
    # A timeout of the socket is for each piece that it reads, and a slow server
    # sends many. So a timer ends the connection when the time is over.
    sock = connection.sock

    def hang_up():
      with contextlib.suppress(OSError):
        # That of SSLSocket would confuse the thread that reads.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)

    sock.settimeout(None)
    timer = threading.Timer(_seconds_until(end), hang_up)
    timer.daemon = True
    timer.start()
    try:
      path = self._endpoint.predict_path
      connection.request("POST", path, body, self._headers)
      response = connection.getresponse()
      content = response.read(_MAX_REPLY_BYTES)
      if len(content) == _MAX_REPLY_BYTES:
        raise OSError(f"the reply is longer than {_MAX_REPLY_BYTES:,} bytes")
      if response.length:  # Bytes that did not come.
        raise http.client.IncompleteRead(content, response.length)
      _seconds_until(end)
    except BaseException as error:
      connection.close()
      if time.monotonic() >= end:
        raise TimeoutError from error
      raise
    finally:
      timer.cancel()
    if connection.sock:  # None if the server closes the connection.
      self._idle.append(connection)
    return response, content

  def _refusal(self, response, content):
    """The ServingError of a reply that is no success."""
    status = f"HTTP {response.status} ({response.reason})"
    message = f"{self._endpoint.address}: {self._endpoint.target}: {status}"
    said = _field(content, "error")  # As TensorFlow Serving: {"error": ..}
    if isinstance(said, str):
      message += f": {said[:_MESSAGE_CHARACTERS].rstrip('. ')}"
    elif content.strip():
      message += f": {_excerpt(content)}"
    if 300 <= response.status < 400:
      location = response.headers.get("Location")
      return RequestRefusedError(f"{message}. Ask {location!r} instead.")
    wait = _seconds_to_wait(response.headers.get("Retry-After", ""))
    return serving_error(_CODES.get(response.status), message, wait)


def _failure(address, error):
  """The ServingError of a request without a reply."""
  if isinstance(error, TimeoutError):
    return serving_error("DEADLINE_EXCEEDED", f"{address}: no answer in time")
  if isinstance(error, ssl.SSLCertVerificationError):
    fault = (
      f"its certificate is not trusted: {error.verify_message}. Give its "
      "authority as ca_file, and use a name that the certificate contains."
    )
  elif isinstance(error, ssl.SSLError):
    fault = (
      f"TLS failed: {error.reason or error}. Is it a TLS port, and does the "
      "server ask for a client certificate (certificate_file)?"
    )
  # UnicodeError: a name that is too long for DNS, for instance.
  elif isinstance(error, (socket.gaierror, UnicodeError)):
    fault = f"the host is unknown: {error}. Check the address."
  else:
    reason = str(error) or type(error).__name__
    return serving_error("UNAVAILABLE", f"{address}: no connection: {reason}")
  return RequestRefusedError(f"{address}: {fault}")


def _seconds_until(end):
  left = end - time.monotonic()
  if left <= 0:
    raise TimeoutError
  return left


def _seconds_to_wait(retry_after):
  """The seconds of a Retry-After header, a number or a date; else 0.0."""
  try:
    if retry_after.isdecimal():
      return float(retry_after)
    date = email.utils.parsedate_to_datetime(retry_after)
    return max(0.0, date.timestamp() - time.time())
  except (TypeError, ValueError, OverflowError):
    return 0.0


def _field(content, name):
  """A field of a JSON object; None where the content is something else."""
  try:
    return json.loads(content)[name]
  except (ValueError, LookupError, TypeError, RecursionError):
    return None


def _excerpt(content):
  text = content[:_MESSAGE_CHARACTERS].decode("utf-8", "backslashreplace")
  return repr(" ".join(text.split()))
