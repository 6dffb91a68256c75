"""The rescaled encoder computes the same; its matrices suit 8 bits."""

import numpy as np
import pytest
from tiny_extractor import tiny_extractor

from bert_span.heads.bio import BIO_HEAD
from bert_span.modeling.architectures import ARCHITECTURES
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.tflite.conversion import QuantizableEncoder


@pytest.mark.parametrize(
  "changes",
  [
    {"head": BIO_HEAD},
    *({"architecture": name} for name in ARCHITECTURES),
    {"architecture": "electra", "embedding_dim": 8},
  ],
)
def test_rescaling_does_not_change_the_logits(changes):
  model = tiny_extractor(**changes).model
  rng = np.random.default_rng(0)
  inputs = {
    "token_ids": rng.integers(0, 20, [3, 12]).astype(np.int32),
    "segment_ids": rng.integers(0, 2, [3, 12]).astype(np.int32),
    "padding_mask": np.array([[1] * 12, [1] * 7 + [0] * 5, [1] + [0] * 11]),
  }
  expected = model(inputs, training=False)
  given = InferenceModel(model, QuantizableEncoder(model.backbone))(inputs)
  assert set(given) == set(model.logit_names)
  for name in model.logit_names:
    np.testing.assert_allclose(given[name], expected[name], atol=2e-5)


def test_every_output_of_a_matrix_reaches_one():
  """So that 1/127, the step of 8 bits, is as fine as it can be for each."""
  encoder = QuantizableEncoder(tiny_extractor().model.backbone)
  assert len(encoder._steps) == 6 + 1
  for name in encoder._steps:
    axis = 1 if name == "token_embedding/embeddings" else 0
    largest = np.abs(encoder._weights[name].numpy()).max(axis)
    np.testing.assert_allclose(largest, 1, atol=1e-4)
