"""DeBERTa's buckets of distances, and its attention of any length."""

import numpy as np
import pytest
import tensorflow as tf

from bert_span.modeling.encoder import encode
from bert_span.modeling.inference_encoder import InferenceEncoder
from bert_span.modeling.relative_scores import relative_buckets
from tests.support.models import (
  assert_adapters_are_added_for_inference,
  assert_computed_for_inference,
  tiny_encoder,
  varied_encoder,
)

_DEBERTA = {"architecture": "deberta-v2", "position_buckets": 8}


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


@pytest.mark.parametrize(
  ("dtype", "changes"),
  [
    # Distances of up to 4, of up to 10 and above have a bucket of their own.
    (None, {}),
    (None, {"position_buckets": 20}),
    (None, {"max_sequence_length": 64}),
    ("bfloat16", {"dropout": 0.0, "attention_dropout": 0.0}),
  ],
)
def test_vectors_are_those_of_the_backbone(dtype, changes):
  assert_computed_for_inference(
    varied_encoder(dtype, **{**_DEBERTA, **changes})
  )


def test_adapters_of_lora_are_added():
  assert_adapters_are_added_for_inference(varied_encoder(**_DEBERTA))


@pytest.fixture(scope="module")
def published():
  """A backbone with the buckets and positions of the published models.

  With it is its encoder for inference, for any length.
  """
  backbone = tiny_encoder(
    architecture="deberta-v2", position_buckets=256, max_sequence_length=512
  )
  rng = np.random.default_rng(0)
  for weight in backbone.weights:
    weight.assign(weight + rng.normal(0, 0.3, weight.shape))
  spec = dict.fromkeys(backbone.input, tf.TensorSpec([None, None], tf.int32))
  encoder = tf.function(InferenceEncoder(backbone), input_signature=[spec])
  return backbone, encoder


@pytest.mark.parametrize("length", [1, 2, 128, 129, 130, 131, 257, 512])
def test_vectors_of_any_length_are_those_of_the_backbone(published, length):
  backbone, encoder = published
  mask = np.arange(length) < np.array([[length], [length - length // 4]])
  inputs = {
    "token_ids": np.random.default_rng(length).integers(0, 11, mask.shape),
    "padding_mask": mask.astype(np.int32),
  }
  np.testing.assert_allclose(
    encoder(inputs)[mask], encode(backbone, inputs)[mask], atol=1e-5
  )
