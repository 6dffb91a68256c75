import numpy as np
import pytest
import tensorflow as tf
from distributed_checks import batches, make_model

from bert_span.heads.span import SPAN_HEAD
from bert_span.modeling.precision import computing_in
from bert_span.modeling.recompute import recomputing_layers
from bert_span.modeling.span_loss import SpanLoss
from bert_span.training.replica_dropout import seed_dropout


def loss_and_gradients(model, is_compiled=True):
  """One training pass with dropout, its masks drawn from the same seeds."""
  seed_dropout(model, 5)
  batch = next(iter(batches(4, 0)))

  def compute():
    with tf.GradientTape() as tape:
      loss = tf.reduce_sum(SPAN_HEAD.loss_fn(SpanLoss())(model, batch))
    weights = [weight.value for weight in model.trainable_variables]
    return loss, [
      tf.convert_to_tensor(gradient)
      for gradient in tape.gradient(loss, weights)
      if gradient is not None
    ]

  loss, gradients = (tf.function(compute) if is_compiled else compute)()
  return loss.numpy(), [gradient.numpy() for gradient in gradients]


def seeds(model):
  return [
    state.numpy().tolist()
    for state in model.variables
    if state.name == "seed_generator_state"
  ]


@pytest.mark.large
@pytest.mark.parametrize("is_compiled", [True, False])
def test_recomputed_layers_have_the_same_loss_gradients_and_masks(is_compiled):
  model = make_model(dropout=0.3)
  loss, gradients = loss_and_gradients(model, is_compiled)
  drawn = seeds(model)
  with recomputing_layers(model.backbone):
    again, recomputed = loss_and_gradients(model, is_compiled)
    assert seeds(model) == drawn
  assert again == loss
  assert len(recomputed) == len(gradients)
  for value, expected in zip(recomputed, gradients, strict=True):
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.large
def test_recomputed_layers_compute_in_half_precision_too():
  model = make_model(dropout=0.3)
  with computing_in(model.backbone, "bfloat16"):
    loss, gradients = loss_and_gradients(model)
    with recomputing_layers(model.backbone):
      again, recomputed = loss_and_gradients(model)
  assert again == loss
  for value, expected in zip(recomputed, gradients, strict=True):
    np.testing.assert_allclose(value, expected, rtol=1e-2, atol=1e-3)


def test_an_encoder_is_what_it_was_afterwards():
  model = make_model()
  layer = model.backbone.transformer_layers[0]
  plain = layer.call
  with (
    pytest.raises(RuntimeError, match="stop"),
    recomputing_layers(model.backbone),
  ):
    assert layer.call != plain
    raise RuntimeError("stop")
  assert layer.call == plain
  with recomputing_layers(model.backbone, recomputes=False):
    assert layer.call == plain
