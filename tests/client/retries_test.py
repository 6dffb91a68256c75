"""Waits, timeouts and the end of repeated requests, without a clock."""

import types
from unittest import mock

import pytest

from bert_span.client import retries
from bert_span.client.retries import (
  RetryOptions,
  ServerTimeoutError,
  ServerUnavailableError,
  ServingError,
)


@pytest.fixture
def call(monkeypatch):
  """Runs scripted outcomes; gives the result, the waits, and the timeouts.

  Waits are half of their bound, if they are drawn from 0 to the bound.
  """

  def run(outcomes, options, seconds=0.0):
    waits, timeouts = [], []

    def attempt(timeout):
      timeouts.append(timeout)
      return outcome()

    outcome = mock.Mock(side_effect=outcomes)  # raises those that are errors
    fake_time = types.SimpleNamespace(
      monotonic=lambda: seconds * len(timeouts) + sum(waits), sleep=waits.append
    )
    monkeypatch.setattr(retries, "time", fake_time)
    monkeypatch.setattr(retries.random, "uniform", lambda a, b: a + b / 2)
    return retries.call_with_retries(attempt, options), waits, timeouts

  return run


def _away(retry_after=0.0):
  return ServerUnavailableError("Away.", retry_after)


@pytest.mark.parametrize(
  ("errors", "waits"),
  [
    ([], []),
    ([_away()] * 5, [0.25, 0.5, 1.0, 1.5, 1.5]),
    # What the server asks for is the least wait.
    ([_away(9.0)], [9.0]),
  ],
)
def test_waits_double_up_to_the_longest(call, errors, waits):
  options = RetryOptions(7.0, 100.0, 6, first_wait=0.5, longest_wait=3.0)
  timeouts = [7.0] * (len(errors) + 1)
  assert call([*errors, "a"], options) == ("a", waits, timeouts)


def test_attempts_get_what_the_deadline_leaves(call):
  options = RetryOptions(timeout=10.0, deadline=15.0, first_wait=1.0)
  _, _, timeouts = call([_away(), "a"], options, seconds=6.0)
  assert timeouts == [10.0, 8.5]  # 15 - 6 - 0.5


@pytest.mark.parametrize(
  ("errors", "attempt"),
  [
    ([_away()] * 6, 6),
    ([_away(100.0)], 1),  # The deadline would be over.
    ([_away(10**400)], 1),
  ],
)
def test_a_server_is_given_up_after_all_attempts_or_the_deadline(
  call, errors, attempt
):
  options = RetryOptions(7.0, 100.0, max_attempts=6, first_wait=0.5)
  with pytest.raises(
    ServerUnavailableError, match=f"attempt {attempt} .*6 .*100 s"
  ):
    call(errors, options)


@pytest.mark.parametrize("error", [ServingError, ServerTimeoutError])
def test_other_errors_are_not_repeated(call, error):
  with pytest.raises(error):
    call([error("no"), "a"], RetryOptions(7.0, 100.0))
