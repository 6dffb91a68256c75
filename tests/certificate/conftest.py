"""The original's outputs, as the conformance report reads them."""

import pytest

from bert_span.certificate.golden_files import GoldenFiles, sample_goldens


@pytest.fixture(scope="session")
def original(goldens, shared_data):
  """Outputs for SQuAD, or a skip."""
  return GoldenFiles(str(goldens), str(shared_data))


@pytest.fixture(scope="session")
def sample():
  """Those that come with the package: for its sample and for edge cases."""
  return sample_goldens()
