import types
from unittest import mock

import pytest

from bert_span.client import retries
from bert_span.client.retries import (
  RetryOptions,
  ServerUnavailableError,
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
