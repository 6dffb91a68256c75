"""MobileBERT for inference against its backbone."""

import pytest

from tests.support.models import (
  MOBILEBERT,
  assert_adapters_are_added_for_inference,
  assert_computed_for_inference,
  varied_encoder,
)

_MOBILEBERT = {"architecture": "mobilebert", **MOBILEBERT}
_NORMALIZED = {"normalization_type": "layer_norm", "outer_norm_epsilon": 0.1}


@pytest.mark.large
@pytest.mark.parametrize(
  ("dtype", "changes"),
  [
    (None, {}),
    (None, {**_NORMALIZED, "use_bottleneck": False}),
    (None, {**_NORMALIZED, "key_query_shared_bottleneck": False}),
    (None, {"use_bottleneck_attention": True, "trigram_input": False}),
    ("float16", {"dropout": 0.0, "attention_dropout": 0.0}),
    ("mixed_bfloat16", _NORMALIZED),
  ],
)
def test_vectors_are_those_of_the_backbone(dtype, changes):
  assert_computed_for_inference(
    varied_encoder(dtype, **{**_MOBILEBERT, **changes})
  )


def test_adapters_of_lora_are_added():
  assert_adapters_are_added_for_inference(varied_encoder(**_MOBILEBERT))
