"""The heads, and the models they make with an encoder."""

import keras
import numpy as np
import pytest

from bert_span.extractors.bio_extractor import BioExtractor
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.modeling.heads import BioHead, SpanHead, assign_head
from bert_span.modeling.tags import TAGS
from tests.support.models import INPUTS, tiny_encoder


def test_span_logits_are_products_with_the_start_and_the_end_vector():
  head = SpanHead()
  head.build((None, None, 3))
  head.kernel.assign([[1.0, 0.0], [2.0, 0.0], [0.0, 5.0]])
  head.bias.assign([10.0, 20.0])
  start, end = head(np.array([[[1.0, 1.0, 1.0], [0.0, 2.0, -1.0]]]))
  np.testing.assert_allclose(start, [[13.0, 14.0]])
  np.testing.assert_allclose(end, [[25.0, 15.0]])


def test_a_transform_is_an_exact_gelu_and_a_layer_norm():
  head = SpanHead(has_transform=True, use_bias=False)
  head.build((None, None, 3))
  head.transform_kernel.assign(np.eye(3))
  head.kernel.assign([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
  start, end = head(np.array([[[0.0, 1.0, 2.0]]], "float32"))
  # GELU: 0, 0.841345, 1.954500 (0.841192, 1.954598 by tanh).
  # Mean 0.931948, variance 0.640783.
  np.testing.assert_allclose(
    [start[0, 0], end[0, 0]], [-1.164214, -0.113184], atol=2e-5
  )


def test_tag_logits_are_w_times_the_vector_plus_b():
  assert TAGS == ("B", "I", "O")
  head = BioHead()
  head.build((None, None, 2))
  head.kernel.assign([[1, 0], [0, 1], [1, 1]])
  head.bias.assign([0, 10, 100])
  logits = head(np.array([[[2.0, 3.0], [0.0, -1.0]]], "float32"))
  np.testing.assert_array_equal(logits, [[[2, 13, 105], [0, 9, 99]]])


@pytest.mark.parametrize(
  ("head_type", "shape"), [(SpanHead, (5000, 2)), (BioHead, (3, 5000))]
)
def test_new_head_is_a_truncated_normal_of_deviation_002(head_type, shape):
  keras.utils.set_random_seed(7)
  head = head_type()
  head.build((None, None, 5000))
  kernel = head.kernel.numpy()
  assert kernel.shape == shape
  # Cut at two deviations, 0.02 draws have a deviation of 0.0176.
  assert 0.0170 < kernel.std() < 0.0182
  assert 0.039 < np.abs(kernel).max() <= 0.0400001
  assert not np.any(head.bias)


@pytest.mark.parametrize(
  ("kind", "shape"), [(SpanExtractor, (2, 6)), (BioExtractor, (2, 6, 3))]
)
def test_logits_stay_float32_when_the_encoder_is_bfloat16(kind, shape):
  model = kind(tiny_encoder("mixed_bfloat16"))
  assert model.backbone(INPUTS)["sequence_output"].dtype == "bfloat16"
  logits = model(INPUTS)
  assert logits.keys() == kind.logits.keys()
  for value in logits.values():
    assert (tuple(value.shape), value.dtype) == (shape, "float32")
  assert model.head.compute_dtype == "float32"


@pytest.mark.parametrize("head_type", [SpanHead, BioHead])
def test_a_head_is_saved_as_float32_and_refuses_another_dtype(head_type):
  config = head_type(dtype="float32").get_config()
  assert config["dtype"]["config"] == {"name": "float32"}
  assert head_type.from_config(config).dtype_policy.name == "float32"
  for dtype in ("bfloat16", keras.DTypePolicy("mixed_float16")):
    with pytest.raises(ValueError, match=f"{head_type.__name__}.*float16"):
      head_type(dtype=dtype)


@pytest.mark.parametrize("kind", [SpanExtractor, BioExtractor])
def test_trained_head_is_assigned_and_another_width_refused(kind):
  model = kind(tiny_encoder())
  head = model.head
  kernel, bias = (
    np.random.default_rng(0).normal(size=weight.shape).astype("float32")
    for weight in head.weights
  )
  assign_head(model.head, {"kernel": kernel, "bias": bias})
  np.testing.assert_array_equal(head.kernel, kernel)
  np.testing.assert_array_equal(head.bias, bias)
  with pytest.raises(ValueError, match=rf"kernel of .*{head.name}"):
    assign_head(model.head, {"kernel": kernel[:2, :2], "bias": bias})


def test_missing_bias_is_zero_in_a_span_head_and_refused_in_a_tag_head():
  encoder, kernel = tiny_encoder(), np.zeros((8, 2), "float32")
  model = SpanExtractor(encoder)
  model.head.bias.assign([1.0, 2.0])
  assign_head(model.head, {"kernel": kernel})
  np.testing.assert_array_equal(model.head.bias, [0.0, 0.0])
  model = BioExtractor(encoder)
  with pytest.raises(ValueError, match="trained tag_head"):
    assign_head(model.head, {"kernel": np.zeros((3, 8))})
  model = SpanExtractor(encoder, head_bias=False)
  with pytest.raises(ValueError, match="span_head_bias"):
    assign_head(model.head, {"kernel": kernel, "bias": np.zeros(2)})
