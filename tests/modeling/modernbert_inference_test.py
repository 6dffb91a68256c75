"""ModernBERT for inference against its backbone."""

import pytest

from tests.support.models import (
  assert_adapters_are_added_for_inference,
  assert_computed_for_inference,
  varied_encoder,
)

# A global layer, and two local ones whose window is shorter than the texts.
_MODERNBERT = {
  "architecture": "modernbert",
  "num_layers": 3,
  "sliding_window_size": 6,
}


@pytest.mark.parametrize(
  ("dtype", "changes"),
  [
    (None, {}),
    (None, {"activation": "relu", "layer_norm_epsilon": 1e-3}),
    (None, {"global_attn_every_n_layers": 2, "hidden_dim": 24}),
    ("float16", {}),
    ("mixed_bfloat16", {"dropout": 0.1, "attention_dropout": 0.1}),
  ],
)
def test_vectors_are_those_of_the_backbone(dtype, changes):
  assert_computed_for_inference(
    varied_encoder(dtype, **{**_MODERNBERT, **changes})
  )


def test_adapters_of_lora_are_added():
  assert_adapters_are_added_for_inference(varied_encoder(**_MODERNBERT))
