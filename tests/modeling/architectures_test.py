"""The architecture of a backbone."""

import keras
import pytest

from bert_span.modeling.architectures import ARCHITECTURES, architecture_of
from tests.support.models import tiny_encoder


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_backbone_is_of_the_architecture_it_was_built_for(name):
  """A CamemBERT's class is one of XLM-R's, and belongs to CamemBERT."""
  assert architecture_of(tiny_encoder(architecture=name)).name == name


def test_a_subclass_of_a_backbone_is_of_its_architecture():
  backbone = tiny_encoder(architecture="camembert")

  class Ours(type(backbone)):
    pass

  ours = Ours.from_config(backbone.get_config())
  assert architecture_of(ours).name == "camembert"


def test_another_model_is_refused():
  with pytest.raises(ValueError, match=r"camembert.*Sequential"):
    architecture_of(keras.Sequential())
