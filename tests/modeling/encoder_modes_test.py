"""Mixed precision and gradient checkpointing of an encoder."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_span.data.preprocessor import SpanPreprocessor
from bert_span.modeling.encoder import layer_calls
from bert_span.modeling.encoder_modes import computing_in, recomputing_layers
from bert_span.modeling.keras_internals import sublayers
from bert_span.training.step_runner import seed_dropout
from tests.support.models import tiny_encoder
from tests.support.training import LOSS_FN, batches, make_span_model

_DEBERTA = {"architecture": "deberta-v2", "position_buckets": 8}
# Layers that are computed in blocks of 2 tokens, of 12.
_MODERNBERT = {"architecture": "modernbert", "sliding_window_size": 4}
# A layer that is called twice.
_ALBERT = {"architecture": "albert", "num_layers": 2, "embedding_dim": 6}


def logits(model):
  inputs, _ = SpanPreprocessor.inputs_and_labels(next(iter(batches(4, 0))))
  return model(inputs)["start_logits"]


@pytest.mark.parametrize(
  ("precision", "encoder"),
  [
    ("float16", {}),
    ("bfloat16", _DEBERTA),
    ("bfloat16", _MODERNBERT),
    ("bfloat16", _ALBERT),
  ],
)
def test_matrix_products_are_in_half_precision_and_the_rest_is_not(
  precision, encoder
):
  model = make_span_model(**encoder)
  expected = logits(model)
  with computing_in(model.backbone, precision):
    layer, *_ = layer_calls(model.backbone)
    parts = {part.name: part for part in sublayers(layer)}
    attention = parts["self_attention_layer"]
    assert layer.compute_dtype == attention.compute_dtype == precision
    assert parts["query"].compute_dtype == precision
    softmaxes = sublayers(attention, keras.layers.Softmax)
    # ModernBERT's is no layer; `attend` computes it in float32.
    assert len(softmaxes) == (encoder is not _MODERNBERT)
    assert {softmax.compute_dtype for softmax in softmaxes} <= {"float32"}
    assert {weight.dtype for weight in model.weights} == {"float32"}
    assert model.head.compute_dtype == "float32"
    found = logits(model)
  assert found.dtype == tf.float32
  difference = np.abs(found - expected).max()
  assert 0 < difference < 0.05
  np.testing.assert_array_equal(logits(model), expected)


def loss_and_gradients(model, is_compiled=True):
  """A training pass with dropout from the same seeds, and the next seeds."""
  seed_dropout(model, 5)
  batch = next(iter(batches(4, 0)))

  def compute():
    with tf.GradientTape() as tape:
      loss = tf.reduce_sum(LOSS_FN(model, batch))
    weights = [weight.value for weight in model.trainable_variables]
    return loss, [
      tf.convert_to_tensor(gradient)
      for gradient in tape.gradient(loss, weights)
      if gradient is not None
    ]

  loss, gradients = (tf.function(compute) if is_compiled else compute)()
  states = [v.numpy() for v in model.variables if "seed_generator" in v.name]
  return loss.numpy(), [g.numpy() for g in gradients], np.array(states)


@pytest.mark.large
@pytest.mark.parametrize(
  ("precision", "is_compiled", "rtol", "atol", "encoder"),
  [
    ("float32", True, 1e-5, 1e-7, {}),
    ("float32", True, 1e-5, 1e-7, _DEBERTA),
    ("bfloat16", False, 1e-2, 1e-3, _DEBERTA),
    ("float32", True, 1e-5, 1e-7, {**_MODERNBERT, "num_layers": 2}),
    ("float32", True, 1e-5, 1e-7, _ALBERT),
  ],
)
def test_recomputed_layers_have_the_same_loss_gradients_and_masks(
  precision, is_compiled, rtol, atol, encoder
):
  model = make_span_model(dropout=0.3, **{"num_layers": 1, **encoder})
  with computing_in(model.backbone, precision):
    loss, gradients, seeds = loss_and_gradients(model, is_compiled)
    with recomputing_layers(model.backbone):
      again, recomputed, drawn = loss_and_gradients(model, is_compiled)
  assert again == loss and len(seeds)
  np.testing.assert_array_equal(drawn, seeds)
  for value, expected in zip(recomputed, gradients, strict=True):
    np.testing.assert_allclose(value, expected, rtol=rtol, atol=atol)


def test_recomputed_layers_drop_nothing_outside_of_training():
  model = make_span_model(dropout=0.3, **_DEBERTA)
  expected = logits(model)
  with recomputing_layers(model.backbone):
    np.testing.assert_array_equal(logits(model), expected)


def test_deberta_does_not_compute_in_float16():
  model = make_span_model(**_DEBERTA)
  with (
    pytest.raises(ValueError, match=r"#24116.*bfloat16"),
    computing_in(model.backbone, "float16"),
  ):
    pass
  for dtype in ("float16", "mixed_float16"):
    with pytest.raises(ValueError, match=r"deberta-v2.*#24116.*bfloat16"):
      tiny_encoder(dtype, architecture="deberta-v2")


def test_an_encoder_is_what_it_was_after_an_error():
  model = make_span_model()
  layer = model.backbone.transformer_layers[0]
  plain = layer.call
  with (
    pytest.raises(RuntimeError, match="stop"),
    computing_in(model.backbone, "bfloat16"),
    recomputing_layers(model.backbone),
  ):
    assert layer.call != plain
    raise RuntimeError("stop")
  assert layer.call == plain
  assert {part.compute_dtype for part in sublayers(model)} == {"float32"}
