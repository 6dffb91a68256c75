"""Repeats requests while a server is starting or busy.

One loop serves REST and gRPC. urllib3's Retry has no deadline over all attempts
and waits as long as Retry-After asks. If it repeats broken connections, it also
repeats requests that timed out; and it repeats none whose reply breaks off.
gRPC's policy makes at most five attempts, without a timeout for one.
"""

import dataclasses
import itertools
import random
import time

from bert_span.options.fields import CheckedOptions, option
from bert_span.options.messages import printable


class ServingError(Exception):
  """A server gave no answers; the message names the address and the remedy."""

  def __init__(self, message):
    # A terminal would obey control characters in the server's reply.
    super().__init__(printable(message))


class RequestRefusedError(ServingError):
  """The server refuses this request, and would refuse it again."""


class ServerTimeoutError(ServingError):
  """No answer came in time. A repeated request would double the load."""


class ServerUnavailableError(ServingError):
  """The server cannot answer now: refused connection, 503, UNAVAILABLE."""

  def __init__(self, message, retry_after=0.0):
    super().__init__(message)
    self.retry_after = retry_after  # seconds to wait, by the server


_LABELS = (
  "A label must be among version_labels in the models.config of TensorFlow "
  "Serving; other servers have no versions and labels: leave both out."
)
# Code of gRPC -> remedy.
_REMEDIES = {
  "NOT_FOUND": "Check the names of model and version: GET /v1/models/NAME "
  f"lists what the server has loaded. {_LABELS}",
  "INVALID_ARGUMENT": "The request does not fit the model's signature "
  "serving_default, or it has more questions than max_batch_size of the "
  f"server's batching parameters. {_LABELS}",
  "UNAUTHENTICATED": "Give a valid bearer_token.",
  "PERMISSION_DENIED": "This bearer_token or client certificate may not ask "
  "this model.",
  "UNIMPLEMENTED": "This is no port of TensorFlow Serving.",
  "RESOURCE_EXHAUSTED": "Lower batch_size; the server, or a proxy before it, "
  "has no memory for it or takes no message of this size.",
  "UNAVAILABLE": "Is the server running and not too busy, is this its port "
  "(TensorFlow Serving's --rest_api_port, often 8501; for gRPC --port, often "
  "8500), and is its certificate trusted (ca_file) if it uses TLS?",
  "DEADLINE_EXCEEDED": "Raise timeout (and TensorFlow Serving's "
  "--rest_api_timeout_in_ms), lower batch_size, or send shorter passages.",
}


def serving_error(code, message, retry_after=0.0):
  """Returns the `ServingError` for a code of gRPC, with a remedy."""
  message = f"{message}. {_REMEDIES.get(code, 'See the server log.')}"
  if code == "UNAVAILABLE":
    return ServerUnavailableError(message, retry_after)
  if code == "DEADLINE_EXCEEDED":
    return ServerTimeoutError(message)
  return (RequestRefusedError if code in _REMEDIES else ServingError)(message)


@dataclasses.dataclass(frozen=True)
class RetryOptions(CheckedOptions):
  """Options for the times that a client waits and repeats a request.

  Before attempt n + 1 it waits a random time between 0 and

      min(first_wait * 2**(n - 1), longest_wait)

  so that many clients do not come back at the same moment; and at least as
  long as the server asks.

  Source: "full jitter" in Exponential Backoff And Jitter, AWS Architecture
  Blog, 2015.
  """

  timeout: float = option(30.0, "Seconds for one attempt.", above=0)
  deadline: float = option(
    60.0, "Seconds for a request with all its attempts and waits.", above=0
  )
  max_attempts: int = option(
    5, "Attempts, the first included; 1 never repeats.", minimum=1
  )
  first_wait: float = option(
    0.2, "Seconds, the longest wait before the second attempt.", minimum=0
  )
  longest_wait: float = option(
    5.0, "Seconds, the longest wait before any attempt.", minimum=0
  )


def call_with_retries(attempt, options):
  """Calls `attempt` with its timeout in seconds, until it returns.

  Repeats it after a `ServerUnavailableError` and raises the last one.
  """
  end = time.monotonic() + options.deadline
  longest_wait = options.first_wait
  for attempts in itertools.count(1):
    try:
      return attempt(min(options.timeout, max(end - time.monotonic(), 1e-3)))
    except ServerUnavailableError as error:
      longest_wait = min(longest_wait, options.longest_wait)
      # Old versions of urllib3 accept a number of any length.
      shortest_wait = min(error.retry_after, options.deadline)
      wait = max(random.uniform(0.0, longest_wait), shortest_wait)
      is_late = time.monotonic() + wait >= end
      if attempts == options.max_attempts or is_late:
        raise ServerUnavailableError(
          f"{error} Gave up after attempt {attempts} of at most "
          f"{options.max_attempts} within {options.deadline:g} s."
        ) from error
    time.sleep(wait)
    longest_wait *= 2
