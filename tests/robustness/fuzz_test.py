"""Ten seconds of the fuzz; `make fuzz SECONDS=3600` runs it for an hour."""

import pytest

from tests.robustness import fuzz


@pytest.mark.large
@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_every_outcome_is_an_answer_or_a_message(target):
  reports = []
  seconds = 10 / len(fuzz.TARGETS)
  failures = fuzz.fuzz([target], seconds, seed=0, report=reports.append)
  assert not failures, "\n".join(reports)
