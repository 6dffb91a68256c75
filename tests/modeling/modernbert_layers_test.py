"""ModernBERT's layer and attention: positions, local layers, gates, by hand."""

import math

import numpy as np
import pytest
from keras import ops

from bert_span.modeling.modernbert_layers import (
  ModernBertAttention,
  ModernBertEncoderLayer,
  attend,
)


@pytest.mark.parametrize(
  # Numbers 0 and 2 turn by 1 a position, numbers 1 and 3 by 100^(-2/4).
  ("first", "second", "angle"),
  [(0, 2, 1.0), (1, 3, 0.1)],
)
def test_a_vector_turns_with_its_position(first, second, angle):
  attention = ModernBertAttention(1, rope_max_wavelength=100.0)
  attention.build([None, None, 4])
  for weight in attention.weights:
    weight.assign(np.eye(4).reshape(weight.shape))
  vectors = np.eye(4)[[first, second]]
  # The second vector is a right angle before the first, and turned once: its
  # product with the first is cos(90 degrees + angle).
  scores = np.array([1, -math.sin(angle)]) / math.sqrt(4)
  weights = np.exp(scores) / np.exp(scores).sum()
  found = ops.convert_to_numpy(attention(vectors[None], np.ones([1, 2])))
  np.testing.assert_allclose(found[0, 0], weights @ vectors, atol=1e-6)


def test_a_local_layer_attends_to_half_of_its_window_on_each_side():
  seq_length = 6
  zeros = np.zeros([1, 1, seq_length, 1], "float32")
  mask = np.array([[1, 1, 1, 1, 1, 0]])
  values = np.eye(seq_length, dtype="float32")[None, None]
  # Scores of 0: a token's values are the mean of all that it attends to.
  found = ops.convert_to_numpy(
    attend(zeros, zeros, values, mask, sliding_window_size=4)
  )[0, 0]
  reach = np.array(
    [
      [1, 1, 1, 0, 0, 0],
      [1, 1, 1, 1, 0, 0],
      [1, 1, 1, 1, 1, 0],
      [0, 1, 1, 1, 1, 0],
      [0, 0, 1, 1, 1, 0],
    ]
  )
  expected = reach / reach.sum(1, keepdims=True)
  np.testing.assert_allclose(found[:5], expected, atol=1e-6)


@pytest.mark.parametrize("window", [2, 6, 64])
@pytest.mark.parametrize("seq_length", [1, 3, 12, 31])
def test_blocks_compute_what_a_masked_matrix_does(seq_length, window):
  rng = np.random.default_rng(seq_length)
  query, key, value = rng.normal(0, 2, [3, 2, 3, seq_length, 4])
  mask = np.arange(seq_length) < np.array([[seq_length], [seq_length // 2 + 1]])
  distances = np.arange(seq_length)[:, None] - np.arange(seq_length)
  seen = mask[:, None, None] & (abs(distances) <= window // 2)
  scores = query @ key.swapaxes(2, 3) / 2
  weights = np.where(seen, np.exp(scores), 0.0)
  weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-9)  # 0: padding
  expected = weights @ value
  found = attend(
    *(part.astype("float32") for part in (query, key, value)), mask, window
  )
  kept = np.broadcast_to(mask[:, None], expected.shape[:3])
  found = ops.convert_to_numpy(found)[kept]
  np.testing.assert_allclose(found, expected[kept], atol=1e-5)


def _layer_with_means(**changes):
  """A layer whose attention is the mean of its inputs, without feed-forward."""
  layer = ModernBertEncoderLayer(1, 3, **changes)
  layer.build([None, None, 2])
  for weight in layer.weights:
    if "/value/" in weight.path or "/attention_output/" in weight.path:
      weight.assign(np.eye(2).reshape(weight.shape))
    elif weight.name == "kernel":
      weight.assign(0 * weight)
  return layer


@pytest.mark.parametrize(
  ("normalizes", "expected"),
  [
    # [3, 7] + ([3, 7] + [5, 1]) / 2
    (False, [[7, 11], [9, 5]]),
    # [3, 7] is -1, 1 about its mean 5; [5, 1] is 1, -1.
    (True, [[3, 7], [5, 1]]),
  ],
)
def test_the_first_layer_does_not_normalize_what_it_attends_to(
  normalizes, expected
):
  layer = _layer_with_means(normalizes_attention_inputs=normalizes)
  found = layer(np.array([[[3.0, 7.0], [5.0, 1.0]]]), np.ones([1, 2]))
  np.testing.assert_allclose(
    ops.convert_to_numpy(found)[0], expected, atol=1e-4
  )


def test_a_feed_forward_network_has_a_gate():
  layer = _layer_with_means(activation="relu")
  for weight in layer.weights:
    if "/attention_output/" in weight.path:
      weight.assign(0 * weight)
  # [3, 7] is normalized to [-1, 1].
  layer._feedforward_intermediate_dense.kernel.assign([[0, 1, 2], [2, 0, 0]])
  layer._feedforward_gate_dense.kernel.assign([[0, 1, 1], [5, 0, 0]])
  layer._feedforward_output_dense.kernel.assign([[1, 0], [1, 1], [1, 1]])
  # relu([2, -1, -2]) * [5, -1, -1] = [10, 0, 0]
  found = layer(np.array([[[3.0, 7.0]]]), np.ones([1, 1]))
  np.testing.assert_allclose(
    ops.convert_to_numpy(found)[0], [[13, 7]], atol=1e-3
  )


@pytest.mark.parametrize(
  ("hidden_dim", "changes", "named"),
  [
    (16, {"num_heads": 3}, "num_heads.*16 and 3"),
    (18, {}, "num_heads.*18 and 2"),  # heads of 9
    (16, {"sliding_window_size": 7}, "sliding_window_size.*7"),
    (16, {"sliding_window_size": 0}, "sliding_window_size.*0"),
  ],
)
def test_sizes_that_cannot_be_computed_are_refused(hidden_dim, changes, named):
  attention = ModernBertAttention(**{"num_heads": 2, **changes})
  with pytest.raises(ValueError, match=named):
    attention.build([None, None, hidden_dim])


def test_layers_are_made_again_from_their_configs():
  changes = {
    "rope_max_wavelength": 70.0,
    "sliding_window_size": 6,
    "normalizes_attention_inputs": False,
    "activation": "relu",
    "layer_norm_epsilon": 1e-3,
    "dropout": 0.2,
    "attention_dropout": 0.3,
  }
  config = ModernBertEncoderLayer(2, 24, **changes).get_config()
  assert changes.items() <= config.items()
  assert ModernBertEncoderLayer.from_config(config).get_config() == config
  arguments = {"num_heads": 2, "rope_max_wavelength": 70.0}
  arguments |= {"sliding_window_size": 6, "dropout": 0.3}
  config = ModernBertAttention(**arguments).get_config()
  assert arguments.items() <= config.items()
  assert ModernBertAttention.from_config(config).get_config() == config
