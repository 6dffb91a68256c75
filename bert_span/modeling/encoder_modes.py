"""How an encoder computes during training: precision, gradient checkpointing.

Both are context managers. Afterwards the encoder is what it was, so a model is
saved and used in float32 however it was trained.
"""

import contextlib

import keras
import tensorflow as tf

from bert_span.modeling.architectures import architecture_of
from bert_span.modeling.encoder import check_precision, layer_calls
from bert_span.modeling.keras_internals import (
  is_training,
  sublayers,
  training_calls,
)


@contextlib.contextmanager
def computing_in(backbone, precision):
  """Makes an encoder compute in another precision (mixed precision).

  Weights and gradients stay float32, as do softmax, which sums over hundreds of
  positions, and LayerNorm.
  """
  layers = []
  if precision != "float32":
    check_precision(architecture_of(backbone), precision)
    layers = sublayers(backbone)
  before = [layer.dtype_policy for layer in layers]
  for layer in layers:
    is_softmax = isinstance(layer, keras.layers.Softmax)
    layer.dtype_policy = "float32" if is_softmax else f"mixed_{precision}"
  try:
    yield
  finally:
    for layer, policy in zip(layers, before, strict=True):
      layer.dtype_policy = policy


@contextlib.contextmanager
def recomputing_layers(backbone, recomputes=True):
  """Makes an encoder keep only the inputs of its layers (checkpointing).

  Normally a layer keeps about 34 vectors per token and 5 numbers per head and
  token pair; here one vector per token. The backward pass computes the rest
  again, for about a third more work, with the same dropout masks and gradients.

  keras.RematScope does not do: it takes no keyword arguments within a
  tf.function, such as padding_mask, and draws other dropout masks in the
  backward pass (Keras 3.15).
  """
  layers = {*layer_calls(backbone)} if recomputes else {}
  for layer in layers:
    layer.call = _recomputed(layer)
  try:
    yield
  finally:
    for layer in layers:
      del layer.call  # The class's own method is visible again.


def _recomputed(layer):
  """Returns the call method of a transformer layer, recomputed in training."""
  plain_call = layer.call
  weights = layer.trainable_variables
  generators = [
    part.seed_generator
    for part in sublayers(layer, keras.layers.Dropout)
    if part.rate > 0
  ]

  def call(inputs, **kwargs):
    if not is_training(layer):
      return plain_call(inputs, **kwargs)
    # A dropout layer draws one seed a call. It is drawn here instead.
    seeds = [(generator.state, generator.next()) for generator in generators]
    # DeBERTa's layers share the embeddings of distances.
    shared = [
      name
      for name, value in kwargs.items()
      if tf.is_tensor(value) and value.dtype.is_floating
    ]

    def forward(inputs, *values):
      # What has a gradient is passed as tensors: under a strategy, that of
      # weights is recorded for other variables than these.
      states = [*zip(weights, values, strict=False), *seeds]
      tensors = dict(zip(shared, values[len(weights) :], strict=True))
      with keras.StatelessScope(state_mapping=states), training_calls(layer):
        return plain_call(inputs, **{**kwargs, **tensors})

    values = [*map(tf.convert_to_tensor, weights), *map(kwargs.get, shared)]
    return tf.recompute_grad(forward)(inputs, *values)

  return call
