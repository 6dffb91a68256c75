"""The original's outputs, as the conformance report reads them."""

import pytest

from bert_span.certificate.golden_files import GoldenFiles


@pytest.fixture(scope="session")
def original(goldens, shared_data):
  """All of the original's outputs, or a skip."""
  return GoldenFiles(str(goldens), str(shared_data))


@pytest.fixture(scope="session")
def edge_cases(edge_cases_folder, uncased_vocab_file):
  """Those of the edge cases, which come with the tests."""
  folder = str(edge_cases_folder)
  return GoldenFiles(folder, folder, uncased_vocab_file)
