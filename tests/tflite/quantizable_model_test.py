"""The rescaled model is the model; its matrices suit 8 bits."""

import numpy as np
import pytest
from tiny_extractor import tiny_extractor

from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.tflite.quantizable_model import QuantizableModel


@pytest.mark.parametrize("head", [SPAN_HEAD, BIO_HEAD])
def test_rescaling_does_not_change_the_logits(head):
  model = tiny_extractor(head=head).model
  rng = np.random.default_rng(0)
  inputs = {
    "token_ids": rng.integers(0, 20, [3, 12]).astype(np.int32),
    "segment_ids": rng.integers(0, 2, [3, 12]).astype(np.int32),
    "padding_mask": np.array([[1] * 12, [1] * 7 + [0] * 5, [1] + [0] * 11]),
  }
  expected = model(inputs, training=False)
  given = QuantizableModel(model)(inputs)
  assert set(given) == set(model.logit_names)
  for name in model.logit_names:
    np.testing.assert_allclose(given[name], expected[name], atol=2e-5)


def test_every_output_of_a_matrix_reaches_one():
  """So that 1/127, the step of 8 bits, is as fine as it can be for each."""
  model = QuantizableModel(tiny_extractor().model)
  assert len(model._dense_layers) == 6
  for dense in model._dense_layers:
    matrix = np.abs(dense.weights.matrix.numpy())
    largest = matrix.reshape(-1, dense._bias.size).max(0)
    np.testing.assert_allclose(largest, 1, atol=1e-4)
  tokens = np.abs(model._tokens.matrix.numpy()).max(1)
  np.testing.assert_allclose(tokens, 1, atol=1e-4)
