"""The encoder for inference against KerasHub's layers."""

import pytest

from tests.support.models import (
  ALBERT,
  assert_adapters_are_added_for_inference,
  assert_computed_for_inference,
  varied_encoder,
)

_ALBERT = {"architecture": "albert", **ALBERT}
_DROPOUT = {"dropout": 0.1, "attention_dropout": 0.1}
_NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}


@pytest.mark.parametrize(
  "sizes",
  [
    {"hidden_dim": 30, "num_heads": 3},
    _NO_DROPOUT,  # KerasHub's other attention
    {"architecture": "distilbert", "activation": "gelu"},
    {"architecture": "electra", "embedding_dim": 16, "activation": "relu"},
    {"architecture": "roberta", "layer_norm_epsilon": 1e-3},
    _ALBERT,
    {**_ALBERT, "embedding_dim": 32, "num_groups": 1, "activation": "relu"},
  ],
)
def test_vectors_are_those_of_the_backbone(sizes):
  assert_computed_for_inference(varied_encoder(**sizes))


@pytest.mark.parametrize(
  ("dtype", "sizes"),
  [
    ("bfloat16", _NO_DROPOUT),
    ("mixed_float16", _DROPOUT),
    ("mixed_bfloat16", {"architecture": "xlm-roberta", **_DROPOUT}),
  ],
)
def test_half_precision_is_the_backbones(dtype, sizes):
  assert_computed_for_inference(varied_encoder(dtype, **sizes))


def test_adapters_of_lora_are_added():
  assert_adapters_are_added_for_inference(varied_encoder())
