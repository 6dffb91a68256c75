"""MobileBERT: what transformers does not compute."""

import dataclasses

import pytest

from bert_span.presets.architectures.mobilebert import FILES
from tests.support.models import MOBILEBERT, tiny_config


def test_what_transformers_does_not_compute_is_refused():
  config = tiny_config(architecture="mobilebert", **MOBILEBERT)
  FILES.check_transformers(config)
  for changes, message in (
    ({"key_query_shared_bottleneck": False}, "width of 12.*key_query_shared"),
    (
      {"normalization_type": "layer_norm", "outer_norm_epsilon": 1e-12},
      "layer_norm.* 1e-12",
    ),
  ):
    with pytest.raises(ValueError, match=message):
      FILES.check_transformers(dataclasses.replace(config, **changes))
    # Either of them makes it a model that transformers has.
    changes |= {"use_bottleneck_attention": True, "outer_norm_epsilon": 1e-5}
    FILES.check_transformers(dataclasses.replace(config, **changes))
