"""How an encoder computes in training: precision and gradient checkpointing.

Both are context managers. Afterwards the encoder computes as before: a model is
saved and used in float32, however it was trained.
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

  Weights and gradients stay float32. So do LayerNorm and softmax, which sums
  over hundreds of positions.
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

  Normally a layer keeps about 34 vectors per token, and 5 numbers per head and
  pair of tokens; here it keeps one vector per token. The backward pass computes
  the rest again with the same dropout masks, which takes about a third more
  work. Gradients are the same.

  keras.RematScope cannot be used: in a tf.function it takes no keyword
  arguments, such as padding_mask, and in the backward pass it draws other
  dropout masks (Keras 3.15).
  """
  layers = {*layer_calls(backbone)} if recomputes else {}
  for layer in layers:
    layer.call = _recomputed(layer)
  try:
    yield
  finally:
    for layer in layers:
      del layer.call  # uncovers the method of the class


def _recomputed(layer):
  """Returns a call method that is computed again in the backward pass."""
  plain_call = layer.call
  weights = layer.trainable_variables
  generators = [
    dropout.seed_generator
    for dropout in sublayers(layer, keras.layers.Dropout)
    if dropout.rate > 0
  ]

  def call(inputs, **kwargs):
    if not is_training(layer):
      return plain_call(inputs, **kwargs)
    # The seed that each dropout layer would draw in this call is drawn here.
    seeds = [(generator.state, generator.next()) for generator in generators]
    # Float tensors, such as the embeddings of distances that DeBERTa's layers
    # share.
    shared = [
      name
      for name, value in kwargs.items()
      if tf.is_tensor(value) and value.dtype.is_floating
    ]

    def forward(inputs, *values):
      # Values with gradients are passed as tensors: under a strategy, the
      # gradients of weights would be recorded for other variables.
      states = [*zip(weights, values, strict=False), *seeds]
      tensors = dict(zip(shared, values[len(weights) :], strict=True))
      with keras.StatelessScope(state_mapping=states), training_calls(layer):
        return plain_call(inputs, **{**kwargs, **tensors})

    values = [*map(tf.convert_to_tensor, weights), *map(kwargs.get, shared)]
    return tf.recompute_grad(forward)(inputs, *values)

  return call
