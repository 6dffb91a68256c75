"""The heads of both objectives, computed by hand in NumPy."""

import keras
import keras_hub
import numpy as np

from bert_span.pretraining.heads.token_heads import (
  MaskedLmHead,
  SpanBoundaryHead,
)

_HIDDEN = 6
_VOCAB = 11


def layer_norm(x, gamma, beta):
  mean = x.mean(-1, keepdims=True)
  variance = ((x - mean) ** 2).mean(-1, keepdims=True)
  return (x - mean) / np.sqrt(variance + 1e-12) * gamma + beta


def gelu(x):
  return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def random_head(head_type):
  head = head_type(_HIDDEN, _VOCAB)
  head.build((None, None, _HIDDEN))
  rng = np.random.default_rng(3)
  for weight in head.weights:
    weight.assign(rng.normal(0.0, 0.7, weight.shape))
  return head


def test_the_masked_lm_head_equals_one_computed_by_hand():
  head = random_head(MaskedLmHead)
  rng = np.random.default_rng(0)
  sequence = rng.normal(size=(2, 5, _HIDDEN)).astype("float32")
  embeddings = rng.normal(size=(_VOCAB, _HIDDEN)).astype("float32")
  positions = np.array([[3, 1], [4, 0]], np.int32)
  logits = head(sequence, positions, embeddings).numpy()
  kernel, bias, gamma, beta = map(np.float64, head.transform.get_weights())
  picked = np.stack([sequence[0, [3, 1]], sequence[1, [4, 0]]])
  vectors = layer_norm(gelu(picked @ kernel + bias), gamma, beta)
  expected = vectors @ embeddings.T + np.float64(head.output_layer.bias.numpy())
  np.testing.assert_allclose(logits, expected, atol=1e-5)
  # There is no output matrix.
  shapes = sorted(tuple(weight.shape) for weight in head.weights)
  assert shapes == [(6,), (6,), (6,), (6, 6), (11,)]


def test_keras_hubs_masked_lm_head_computes_the_same():
  head = random_head(MaskedLmHead)
  rng = np.random.default_rng(0)
  sequence = rng.normal(size=(2, 5, _HIDDEN)).astype("float32")
  positions = np.array([[3, 1], [4, 0]], np.int32)
  table = keras_hub.layers.ReversibleEmbedding(_VOCAB, _HIDDEN)
  table.build()
  theirs = keras_hub.layers.MaskedLMHead(
    token_embedding=table,
    intermediate_activation=lambda x: keras.ops.gelu(x, approximate=True),
    layer_norm_epsilon=1e-12,
  )
  theirs.build(sequence.shape)
  values = {
    "intermediate_dense/kernel": head.transform.dense.kernel,
    "intermediate_dense/bias": head.transform.dense.bias,
    "intermediate_layer_norm/gamma": head.transform.layer_norm.gamma,
    "intermediate_layer_norm/beta": head.transform.layer_norm.beta,
    "output_bias": head.output_layer.bias,
  }
  for weight in theirs.weights:
    if weight is not table.embeddings:
      weight.assign(values[weight.path.partition("/")[2]])
  np.testing.assert_allclose(
    head(sequence, positions, table.embeddings),
    theirs(sequence, positions),
    atol=1e-5,
  )


def span_by_hand(head, left, right, position, embeddings):
  """The logits of one target in float64, by the formula."""
  p = np.float64(head.position_embeddings.numpy())[position - 1]
  vector = np.concatenate([left, right, p])  # h0
  for layer in (head.transform_1, head.transform_2):
    kernel, bias, gamma, beta = map(np.float64, layer.get_weights())
    vector = layer_norm(gelu(vector @ kernel + bias), gamma, beta)
  return embeddings @ vector + np.float64(head.output_layer.bias.numpy())


def test_the_span_boundary_head_equals_one_computed_by_hand():
  head = random_head(SpanBoundaryHead)
  rng = np.random.default_rng(4)
  sequence = rng.normal(size=(2, 13, _HIDDEN))
  embeddings = rng.normal(size=(_VOCAB, _HIDDEN))
  # A span x5..x8 with the boundaries 4 and 9, and one x2..x2.
  lefts = np.array([[4, 4, 4, 4], [1, 0, 0, 0]], np.int32)
  rights = np.array([[9, 9, 9, 9], [3, 0, 0, 0]], np.int32)
  positions = np.array([[1, 2, 3, 4], [1, 0, 0, 0]], np.int32)
  logits = head(
    sequence.astype("float32"),
    lefts,
    rights,
    positions,
    embeddings.astype("float32"),
  ).numpy()
  assert logits.shape == (2, 4, _VOCAB)
  for row, target in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]:
    expected = span_by_hand(
      head,
      sequence[row, lefts[row, target]],
      sequence[row, rights[row, target]],
      positions[row, target],
      embeddings,
    )
    np.testing.assert_allclose(logits[row, target], expected, atol=1e-5)


def test_the_input_is_exactly_boundaries_and_position():
  """Super Bowl 50 was [a football championship tournament] to determine."""
  head = random_head(SpanBoundaryHead)
  sequence = np.random.default_rng(5).normal(size=(1, 12, _HIDDEN))
  sequence = sequence.astype("float32")
  four, nine, two = (np.array([[i]], np.int32) for i in (4, 9, 2))
  h0 = head.boundary_vectors(sequence, four, nine, two).numpy()
  assert h0.shape == (1, 1, 2 * _HIDDEN + 200)
  np.testing.assert_array_equal(
    h0[0, 0],
    np.concatenate(
      [
        sequence[0, 4],
        sequence[0, 9],
        head.position_embeddings.numpy()[1],  # positions count from 1
      ]
    ),
  )


def test_there_are_20_positions_of_200_dimensions():
  head = random_head(SpanBoundaryHead)
  assert tuple(head.position_embeddings.shape) == (20, 200)
  assert tuple(head.transform_1.dense.kernel.shape) == (
    2 * _HIDDEN + 200,
    _HIDDEN,
  )
  assert tuple(head.transform_2.dense.kernel.shape) == (_HIDDEN, _HIDDEN)
