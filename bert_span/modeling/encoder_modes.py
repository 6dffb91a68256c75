"""How an encoder computes during training: precision, gradient checkpointing.

Both are context managers. Afterwards the encoder is what it was, so a model is
saved and used in float32 however it was trained.
"""

import contextlib

import keras
import tensorflow as tf

from bert_span.modeling.keras_internals import sublayers


@contextlib.contextmanager
def computing_in(backbone, precision):
  """Makes an encoder compute in another precision (mixed precision).

  Matrix products and the operations between them use `precision`. Weights and
  gradients stay float32. Softmax stays float32 because it sums over hundreds of
  positions, and LayerNorm always computes in float32.
  """
  if precision == "float32":
    yield
    return
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

  The backward pass needs what every layer computed: about 34 vectors of the
  hidden size a position, and for attention 5 numbers a head and pair of
  positions. With this, one vector a position is kept and the rest is computed a
  second time, for about a third more work.

  Values and gradients do not change. Both passes must use the same dropout
  masks, so their seeds are drawn before the layer is computed, and given to it
  each time. `recomputes=False` leaves the encoder as it is.
  """
  layers = backbone.transformer_layers if recomputes else []
  for layer in layers:
    layer.call = _recomputed(layer)
  try:
    yield
  finally:
    for layer in layers:
      del layer.call  # The class's own method is visible again.


def _recomputed(layer):
  """The call method of a transformer layer, recomputed in training."""
  plain_call = layer.call
  weights = layer.trainable_variables
  generators = [
    part.seed_generator
    for part in sublayers(layer, keras.layers.Dropout)
    if part.rate > 0
  ]

  def call(inputs, padding_mask=None, training=None, **kwargs):
    if not training:
      return plain_call(
        inputs, padding_mask=padding_mask, training=training, **kwargs
      )
    # A dropout layer draws one seed a call. It is drawn here instead.
    seeds = [(generator.state, generator.next()) for generator in generators]

    def forward(inputs, *values):
      # The weights are passed as tensors: under a strategy, the gradient is
      # recorded for other variables than these.
      states = [*zip(weights, values, strict=True), *seeds]
      with keras.StatelessScope(state_mapping=states):
        return plain_call(
          inputs, padding_mask=padding_mask, training=training, **kwargs
        )

    return tf.recompute_grad(forward)(
      inputs, *[tf.convert_to_tensor(weight) for weight in weights]
    )

  return call
