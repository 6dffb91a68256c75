"""For tests that parse flags themselves."""

import pytest
from programs import forget_flags


@pytest.fixture(autouse=True)
def no_required_flags():
  """Other tests leave flags of benchmarks, some of which are required."""
  forget_flags("benchmarks")
