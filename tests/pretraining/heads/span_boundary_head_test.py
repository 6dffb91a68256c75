"""The span boundary objective, computed by hand in NumPy."""

import numpy as np
from reference_layers import gelu, layer_norm

from bert_span.pretraining.heads.span_boundary_head import SpanBoundaryHead

_HIDDEN = 6
_VOCAB = 11


def random_head():
  head = SpanBoundaryHead(_HIDDEN, _VOCAB)
  head.build((None, None, _HIDDEN))
  rng = np.random.default_rng(3)
  for weight in head.weights:
    weight.assign(rng.normal(0.0, 0.7, weight.shape))
  return head


def by_hand(head, left, right, position, embeddings):
  """The logits of one target in float64, by the formula."""
  transforms = [
    [np.float64(w) for w in layer.get_weights()]
    for layer in (head.transform_1, head.transform_2)
  ]
  p = np.float64(head.position_embeddings.numpy())[position - 1]
  vector = np.concatenate([left, right, p])  # h0
  for kernel, bias, gamma, beta in transforms:
    vector = layer_norm(gelu(vector @ kernel + bias), gamma, beta)
  return embeddings @ vector + np.float64(head.output_layer.bias.numpy())


def test_the_forward_pass_equals_one_computed_by_hand():
  head = random_head()
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
    expected = by_hand(
      head,
      sequence[row, lefts[row, target]],
      sequence[row, rights[row, target]],
      positions[row, target],
      embeddings,
    )
    np.testing.assert_allclose(logits[row, target], expected, atol=1e-5)


def test_the_input_is_exactly_boundaries_and_position():
  """Super Bowl 50 was [a football championship tournament] to determine."""
  head = random_head()
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
  head = random_head()
  assert tuple(head.position_embeddings.shape) == (20, 200)
  assert tuple(head.transform_1.dense.kernel.shape) == (
    2 * _HIDDEN + 200,
    _HIDDEN,
  )
  assert tuple(head.transform_2.dense.kernel.shape) == (_HIDDEN, _HIDDEN)
