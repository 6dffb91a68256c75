"""The head of the masked language model."""

import numpy as np
from reference_layers import gelu, layer_norm

from bert_span.pretraining.heads.masked_lm_head import MaskedLmHead


def test_the_forward_pass_equals_one_computed_by_hand():
  head = MaskedLmHead(6, 11)
  head.build((None, None, 6))
  rng = np.random.default_rng(0)
  for weight in head.weights:
    weight.assign(rng.normal(0.0, 0.7, weight.shape))
  sequence = rng.normal(size=(2, 5, 6))
  embeddings = rng.normal(size=(11, 6))
  positions = np.array([[3, 1], [4, 0]], np.int32)
  logits = head(
    sequence.astype("float32"), positions, embeddings.astype("float32")
  ).numpy()
  kernel, bias, gamma, beta = map(np.float64, head.transform.get_weights())
  picked = np.stack([sequence[0, [3, 1]], sequence[1, [4, 0]]])
  vectors = layer_norm(gelu(picked @ kernel + bias), gamma, beta)
  expected = vectors @ embeddings.T + np.float64(head.output_layer.bias.numpy())
  np.testing.assert_allclose(logits, expected, atol=1e-5)


def test_it_has_a_transform_and_a_bias_and_no_output_matrix():
  head = MaskedLmHead(6, 11)
  head.build((None, None, 6))
  shapes = [tuple(weight.shape) for weight in head.weights]
  assert sorted(shapes) == [(6,), (6,), (6,), (6, 6), (11,)]
