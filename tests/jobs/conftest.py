"""What the tests of several jobs need."""

import pytest

from tests.support.models import shared_model


@pytest.fixture
def hub_model(model_hub):
  """The name of a `shared_model` on a hub."""
  model_hub.push("us/tiny", shared_model())
  return "hf://us/tiny"
