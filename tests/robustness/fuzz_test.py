"""A short fuzz; `make fuzz SECONDS=3600` runs it for an hour."""

import fuzz
import pytest


@pytest.mark.large
@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_every_outcome_is_an_answer_or_a_message(target):
  reports = []
  failures = fuzz.fuzz(
    [target], seconds=1, seed=0, report=reports.append, least=6
  )
  assert not failures, "\n".join(reports)
