"""Encoders in half precision."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tiny_extractor import tiny_extractor

from bert_span.heads.bio import BIO_HEAD
from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.heads import SpanHead
from bert_span.modeling.keras_internals import sublayers
from bert_span.modeling.span_model import SpanModel
from bert_span.serving.encoder_dtype import cast_encoder

_IDS = np.array([[2, 15, 12, 3, 5, 6, 7, 8, 9, 10, 3, 0]], np.int32)
_INPUTS = {
  "token_ids": _IDS,
  "segment_ids": (np.arange(12) > 3).astype(np.int32)[np.newaxis],
  "padding_mask": (_IDS > 0).astype(np.int32),
}


def test_float32_is_the_model_itself():
  model = tiny_extractor().model
  assert cast_encoder(model, "float32") is model


@pytest.mark.parametrize("head", [SPAN_HEAD, BIO_HEAD])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_encoder_is_cast_while_head_and_softmax_stay_float32(dtype, head):
  model = tiny_extractor(head=head).model
  model.head.bias.assign_add(model.head.bias + 1)
  cast = cast_encoder(model, dtype)
  assert type(cast) is type(model)
  assert {v.dtype for v in cast.backbone.trainable_variables} == {dtype}
  assert {v.dtype for v in cast.head.variables} == {"float32"}
  assert {v.dtype for v in model.weights} == {"float32"}  # left as it was
  (softmax,) = sublayers(cast.backbone, keras.layers.Softmax)
  assert softmax.compute_dtype == "float32"
  outputs = cast(_INPUTS, training=False)
  expected = model(_INPUTS, training=False)
  for name, logits in outputs.items():
    assert logits.dtype == tf.float32
    difference = np.abs(logits - expected[name])[0, :11].max()
    assert 0 < difference < 0.5  # logits are up to 20


def test_a_head_without_a_bias_stays_without():
  backbone = tiny_extractor().model.backbone
  model = SpanModel(backbone, SpanHead(use_bias=False))
  cast = cast_encoder(model, "bfloat16")
  assert cast.head.bias is None
  np.testing.assert_array_equal(cast.head.kernel, model.head.kernel)


def test_unknown_dtype_is_refused():
  with pytest.raises(ValueError, match="'int8'"):
    cast_encoder(tiny_extractor().model, "int8")
