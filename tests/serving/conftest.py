"""The server that clients and pages ask."""

import pytest
from model_server import ModelServer, running


@pytest.fixture
def server():
  """A `ModelServer` that runs."""
  with running(ModelServer()) as running_server:
    yield running_server
