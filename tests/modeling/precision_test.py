import keras
import numpy as np
import pytest
import tensorflow as tf
from distributed_checks import batches, make_model

from bert_span.modeling.keras_internals import sublayers
from bert_span.modeling.precision import computing_in


def logits(model):
  batch = next(iter(batches(4, 0)))
  return model(
    {
      "token_ids": batch["input_ids"],
      "segment_ids": batch["segment_ids"],
      "padding_mask": batch["input_mask"],
    }
  )["start_logits"]


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_matrix_products_are_in_half_precision_and_the_rest_is_not(precision):
  model = make_model()
  expected = logits(model)
  with computing_in(model.backbone, precision):
    layer = model.backbone.transformer_layers[0]
    (attention,) = sublayers(layer, keras.layers.MultiHeadAttention)
    assert layer.compute_dtype == attention.compute_dtype == precision
    assert attention.query_dense.compute_dtype == precision
    (softmax,) = sublayers(attention, keras.layers.Softmax)
    assert softmax.compute_dtype == "float32"
    assert {weight.dtype for weight in model.weights} == {"float32"}
    assert model.head.compute_dtype == "float32"
    found = logits(model)
  assert found.dtype == tf.float32
  difference = np.abs(found - expected).max()
  assert 0 < difference < 0.05
  np.testing.assert_array_equal(logits(model), expected)


def test_layers_have_their_own_precision_again_after_an_error():
  model = make_model()
  with (
    pytest.raises(RuntimeError, match="stop"),
    computing_in(model.backbone, "bfloat16"),
  ):
    raise RuntimeError("stop")
  dtypes = {layer.compute_dtype for layer in sublayers(model)}
  assert dtypes == {"float32"}


def test_float32_leaves_the_encoder_alone():
  model = make_model()
  policy = model.backbone.dtype_policy
  with computing_in(model.backbone, "float32"):
    assert model.backbone.dtype_policy is policy
