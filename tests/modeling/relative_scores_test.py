"""DeBERTa's buckets of distances, and its attention of any length."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.encoder import encode
from bert_span.modeling.inference_encoder import InferenceEncoder
from bert_span.modeling.relative_scores import relative_buckets
from tests.support.models import tiny_encoder


def test_near_distances_have_a_bucket_each_and_far_ones_share_one():
  # With 8 buckets: 4 + ceil(3 * log(distance / 4) / log(31 / 4)).
  buckets = {0: 0, 1: 1, 4: 4, 5: 5, 7: 5, 8: 6, 15: 6, 16: 7, 31: 7, 32: 8}
  distances = np.array(list(buckets))
  expected = list(buckets.values())
  assert relative_buckets(distances, 8, 32).tolist() == expected
  negative = relative_buckets(-distances, 8, 32)
  assert negative.tolist() == [-bucket for bucket in expected]
  # The sizes of all published models.
  distances = np.array([128, 129, 130, 131, 256, 505, 506, 511])
  buckets = relative_buckets(distances, 256, 512)
  assert buckets.tolist() == [128, 129, 130, 131, 192, 254, 255, 255]


@pytest.fixture(scope="module")
def backbone():
  """One with the buckets and positions of the published models."""
  backbone = tiny_encoder(
    architecture="deberta-v2", position_buckets=256, max_sequence_length=512
  )
  rng = np.random.default_rng(0)
  for weight in backbone.weights:
    weight.assign(weight + rng.normal(0, 0.3, weight.shape))
  return backbone


@pytest.mark.parametrize("length", [1, 2, 128, 129, 130, 131, 257, 512])
def test_vectors_of_any_length_are_those_of_the_backbone(backbone, length):
  mask = np.arange(length) < np.array([[length], [length - length // 4]])
  inputs = {
    "token_ids": np.random.default_rng(length).integers(0, 11, mask.shape),
    "padding_mask": mask.astype(np.int32),
  }
  expected = encode(backbone, inputs)
  encoder = InferenceEncoder(backbone)
  spec = tf.TensorSpec([None, None], tf.int32)
  dynamic = tf.function(encoder, input_signature=[dict.fromkeys(inputs, spec)])
  for found in (encoder(inputs), dynamic(inputs)):
    np.testing.assert_allclose(found[mask], expected[mask], atol=1e-5)
