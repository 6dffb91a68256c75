"""The encoder for inference against KerasHub's layers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.encoder import encode
from bert_span.modeling.inference_encoder import InferenceEncoder
from tests.support.models import ALBERT, MOBILEBERT, tiny_encoder

# A global layer, and two local ones whose window is shorter than the texts.
_MODERNBERT = {
  "architecture": "modernbert",
  "num_layers": 3,
  "sliding_window_size": 6,
}
_MOBILEBERT = {"architecture": "mobilebert", **MOBILEBERT}
_ALBERT = {"architecture": "albert", **ALBERT}
_NORMALIZED = {"normalization_type": "layer_norm", "outer_norm_epsilon": 0.1}
# How far half a precision may be from itself in another order of sums: two
# steps of numbers up to 4.
_TOLERANCE = {"bfloat16": 2**-5, "float16": 2**-8}


def _encoder(dtype=None, **sizes):
  """A backbone in which no weight is 0 or 1, biases and LayerNorms included."""
  keras.utils.set_random_seed(0)
  defaults = {"vocabulary_size": 50, "num_segments": 3, "num_layers": 2}
  defaults |= {"num_heads": 4, "hidden_dim": 32, "max_sequence_length": 20}
  backbone = tiny_encoder(dtype, **(defaults | sizes))
  rng = np.random.default_rng(0)
  for weight in backbone.weights:
    weight.assign(weight + rng.normal(0, 0.1, weight.shape))
  return backbone


def _inputs():
  """Windows of 20, 13 and 1 WordPieces, padded to the longest."""
  rng = np.random.default_rng(1)
  mask = np.arange(20) < np.array([[20], [13], [1]])
  # Padding has ids too, so that nothing but the mask hides it.
  return {
    "token_ids": rng.integers(0, 50, mask.shape, np.int32),
    "segment_ids": rng.integers(0, 3, mask.shape, np.int32),
    "padding_mask": mask.astype(np.int32),
  }


def _assert_equal(backbone, atol=1e-5):
  inputs = _inputs()
  expected = encode(backbone, inputs)
  given = InferenceEncoder(backbone)(inputs)
  assert given.dtype == expected.dtype
  assert given.shape == expected.shape
  real = inputs["padding_mask"] == 1
  given, expected = (
    tf.cast(x, tf.float32).numpy()[real] for x in (given, expected)
  )
  assert np.abs(expected).max() > 0.5  # there is something to compare
  np.testing.assert_allclose(given, expected, atol=atol, rtol=0)


@pytest.mark.parametrize(
  "sizes",
  [
    {"hidden_dim": 30, "num_heads": 3},
    {"dropout": 0.0, "attention_dropout": 0.0},  # KerasHub's other attention
    {"dropout": 0.0, "attention_dropout": 0.2},
    {"architecture": "distilbert", "activation": "gelu"},
    {"architecture": "electra", "embedding_dim": 16, "activation": "relu"},
    {"architecture": "roberta", "layer_norm_epsilon": 1e-3},
    _ALBERT,
    {**_ALBERT, "embedding_dim": 32, "num_groups": 1, "activation": "relu"},
    _MOBILEBERT,
    {**_MOBILEBERT, **_NORMALIZED, "use_bottleneck": False},
    {**_MOBILEBERT, **_NORMALIZED, "key_query_shared_bottleneck": False},
    {**_MOBILEBERT, "use_bottleneck_attention": True, "trigram_input": False},
    # Distances of up to 4, of up to 10 and above have a bucket of their own.
    {"architecture": "deberta-v2", "position_buckets": 8},
    {"architecture": "deberta-v2", "position_buckets": 20},
    {"architecture": "deberta-v2", "max_sequence_length": 64},
    _MODERNBERT,
    {**_MODERNBERT, "activation": "relu", "layer_norm_epsilon": 1e-3},
    {**_MODERNBERT, "global_attn_every_n_layers": 2, "hidden_dim": 24},
  ],
)
def test_vectors_are_those_of_the_backbone(sizes):
  _assert_equal(_encoder(**sizes))


@pytest.mark.parametrize(
  ("precision", "sizes"),
  [
    *(
      (precision, sizes)
      for precision in ("bfloat16", "float16")
      for sizes in (
        {},
        {"architecture": "xlm-roberta"},
        {**_ALBERT, "num_layers": 2, "num_inner_repetitions": 1},
        {**_MOBILEBERT, **_NORMALIZED},
        _MODERNBERT,
      )
    ),
    ("bfloat16", {"architecture": "deberta-v2"}),
  ],
)
@pytest.mark.parametrize(
  ("policy", "dropout"), [("{}", 0.0), ("mixed_{}", 0.1)]
)
def test_half_precision_is_the_backbones(precision, policy, dropout, sizes):
  rates = {"dropout": dropout, "attention_dropout": dropout}
  backbone = _encoder(policy.format(precision), **rates, **sizes)
  _assert_equal(backbone, _TOLERANCE[precision])


@pytest.mark.parametrize(
  "architecture", ["bert", "albert", "mobilebert", "deberta-v2", "modernbert"]
)
def test_adapters_of_lora_are_added(architecture):
  sizes = {"mobilebert": _MOBILEBERT, "deberta-v2": {"position_buckets": 8}}
  sizes |= {"modernbert": _MODERNBERT, "albert": _ALBERT}
  backbone = _encoder(
    **{"architecture": architecture, **sizes.get(architecture, {})}
  )
  backbone.enable_lora(2)
  adapters = [w for w in backbone.weights if "lora" in w.path]
  assert adapters
  for weight in adapters:
    weight.assign(keras.random.normal(weight.shape, stddev=0.3, seed=1))
  _assert_equal(backbone)
