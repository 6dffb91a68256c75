import pytest

from bert_span.serving.client.retries import (
  RequestRefusedError,
  RetryOptions,
  ServerUnavailableError,
  call_with_retries,
)


class _Clock:
  """Time that passes only by sleeping, and by what an attempt takes."""

  def __init__(self):
    self.now = 100.0
    self.waits = []

  def __call__(self):
    return self.now

  def sleep(self, seconds):
    self.waits.append(seconds)
    self.now += seconds


def _call(outcomes, options, draw=lambda low, high: high, seconds=0.0):
  """Runs scripted outcomes; returns (result, waits, timeouts given)."""
  clock, timeouts, left = _Clock(), [], list(outcomes)

  def attempt(timeout):
    timeouts.append(timeout)
    clock.now += seconds
    outcome = left.pop(0)
    if isinstance(outcome, Exception):
      raise outcome
    return outcome

  result = call_with_retries(attempt, options, clock, clock.sleep, draw)
  return result, clock.waits, timeouts


def _away(retry_after=0.0):
  return ServerUnavailableError("Away.", retry_after)


def test_success_at_once_waits_for_nothing():
  options = RetryOptions(timeout=7.0)
  assert _call(["a"], options) == ("a", [], [7.0])


def test_waits_double_up_to_the_longest():
  options = RetryOptions(
    max_attempts=6, first_wait=0.5, longest_wait=3.0, deadline=100.0
  )
  _, waits, _ = _call([_away()] * 5 + ["a"], options)
  assert waits == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_waits_are_drawn_from_zero_to_the_bound():
  drawn = []

  def draw(low, high):
    drawn.append((low, high))
    return high / 4

  options = RetryOptions(first_wait=1.0)
  _, waits, _ = _call([_away(), _away(), "a"], options, draw)
  assert drawn == [(0.0, 1.0), (0.0, 2.0)]
  assert waits == [0.25, 0.5]


def test_what_the_server_asks_for_is_the_least_wait():
  _, waits, _ = _call([_away(9.0), "a"], RetryOptions(first_wait=1.0))
  assert waits == [9.0]


def test_attempts_get_what_the_deadline_leaves():
  options = RetryOptions(timeout=10.0, deadline=15.0, first_wait=1.0)
  _, _, timeouts = _call([_away(), "a"], options, seconds=6.0)
  assert timeouts == [10.0, 8.0]  # 15 - 6 - 1


def test_no_attempt_starts_after_the_deadline():
  options = RetryOptions(deadline=2.0, first_wait=1.0)
  with pytest.raises(ServerUnavailableError, match="after 2 attempts"):
    _call([_away()] * 5, options)


def test_the_last_attempts_error_is_raised_with_the_count():
  options = RetryOptions(max_attempts=2)
  with pytest.raises(ServerUnavailableError) as caught:
    _call([_away(), _away()], options)
  assert str(caught.value) == (
    "Away. Gave up after 2 attempts (at most 2 within 60 s)."
  )


def test_other_errors_are_not_tried_again():
  with pytest.raises(RequestRefusedError):
    _call([RequestRefusedError("No."), "a"], RetryOptions())


@pytest.mark.parametrize(
  "option",
  [
    {"timeout": 0},
    {"deadline": -1.0},
    {"deadline": float("nan")},
    {"max_attempts": 0},
    {"first_wait": -0.1},
    {"longest_wait": float("nan")},
  ],
)
def test_wrong_options_are_named(option):
  ((name, value),) = option.items()
  with pytest.raises(ValueError, match=f"{name} .*{value}"):
    RetryOptions(**option)
