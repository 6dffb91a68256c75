"""Requests that are tried again while a server is starting or busy."""

import dataclasses
import random
import time


class ServingError(Exception):
  """A server gave no answers; the message names the address and the remedy."""


class RequestRefusedError(ServingError):
  """The server, or the way to it, refuses this request: the same again fails.

  An unknown model, a wrong input, a missing token, an untrusted certificate.
  """


class ServerTimeoutError(ServingError):
  """No answer came in time. Not tried again: that would double the load."""


class ServerUnavailableError(ServingError):
  """The server cannot answer now: refused connection, 503, UNAVAILABLE.

  Args:
    message: what the user reads.
    retry_after: seconds that the server asks to wait, 0.0 if it does not.
  """

  def __init__(self, message, retry_after=0.0):
    super().__init__(message)
    self.retry_after = retry_after


@dataclasses.dataclass(frozen=True)
class RetryOptions:
  """How long a request is waited for, and how often it is repeated.

  Attributes:
    timeout: seconds for one attempt.
    deadline: seconds for a request with all its attempts and waits.
    max_attempts: attempts, the first included; 1 never repeats.
    first_wait: seconds, the longest wait before the second attempt; it doubles
      with each further one.
    longest_wait: seconds, where the doubling ends.
  """

  timeout: float = 30.0
  deadline: float = 60.0
  max_attempts: int = 5
  first_wait: float = 0.2
  longest_wait: float = 5.0

  def __post_init__(self):
    for name in ("timeout", "deadline"):
      if not getattr(self, name) > 0:
        raise ValueError(
          f"{name} must be above 0 seconds. Received: {getattr(self, name)}."
        )
    for name in ("first_wait", "longest_wait"):
      if not getattr(self, name) >= 0:
        raise ValueError(
          f"{name} must be at least 0 seconds. Received: {getattr(self, name)}."
        )
    if self.max_attempts < 1:
      raise ValueError(
        f"max_attempts must be at least 1. Received: {self.max_attempts}."
      )


def call_with_retries(
  attempt,
  options,
  clock=time.monotonic,
  sleep=time.sleep,
  draw=random.uniform,
):
  """Calls a function until it succeeds, with growing random waits.

  Before attempt n + 1 (n from 1) it waits a random time between 0 and

      min(first_wait * 2**(n - 1), longest_wait)

  so that many clients do not come back at the same moment; at least as long as
  the server asks for. No wait and no attempt goes beyond the deadline.

  Args:
    attempt: function of seconds it may take. ServerUnavailableError means that
      it may be called again.
    options: `RetryOptions`.
    clock: function that gives seconds of a clock that never goes back.
    sleep: function of seconds that waits them.
    draw: function of two bounds that gives a random number between.

  Returns:
    What `attempt` returns.

  Raises:
    ServerUnavailableError: the last attempt's, saying how many there were.
    Exception: whatever else `attempt` raises, at once.

  Source: "full jitter" of Exponential Backoff And Jitter, AWS Architecture
  Blog, 2015.
  """
  end = clock() + options.deadline
  wait_bound = options.first_wait
  for number in range(1, options.max_attempts + 1):
    try:
      return attempt(min(options.timeout, max(end - clock(), 1e-3)))
    except ServerUnavailableError as error:
      bound = min(wait_bound, options.longest_wait)
      wait = max(draw(0.0, bound), error.retry_after)
      if number == options.max_attempts or clock() + wait >= end:
        raise _given_up(error, number, options) from error
    sleep(wait)
    wait_bound *= 2
  raise AssertionError("unreachable: the last attempt returns or raises")


def _given_up(error, attempts, options):
  times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
  limit = f"at most {options.max_attempts} within {options.deadline:g} s"
  return ServerUnavailableError(f"{error} Gave up after {times} ({limit}).")
