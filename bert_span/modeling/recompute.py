"""Gradient checkpointing: memory of one layer instead of all."""

import contextlib

import keras
import tensorflow as tf

from bert_span.modeling.keras_internals import sublayers


@contextlib.contextmanager
def recomputing_layers(backbone, recomputes=True):
  """Has an encoder keep only the inputs of its layers while it is trained.

  The backward pass needs what every layer computed: for a layer some 34 vectors
  of the hidden size a position, and for its attention 5 numbers a head and pair
  of positions. Kept is one vector a position; the rest is computed a second
  time when the backward pass comes to the layer, for about a third more work.

  Values and gradients are those of the plain encoder. For that the dropout
  masks must be the same both times: their seeds are drawn before the layer is
  computed, and given to it each time.

  Args:
    backbone: a keras_hub.models.BertBackbone.
    recomputes: False leaves the encoder as it is.
  """
  layers = backbone.transformer_layers if recomputes else []
  for layer in layers:
    layer.call = _recomputed(layer)
  try:
    yield
  finally:
    for layer in layers:
      del layer.call  # The method of the class stands there again.


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
    # A dropout layer draws one seed a call, which is drawn here instead.
    seeds = [(generator.state, generator.next()) for generator in generators]

    def forward(inputs, *values):
      # Weights as tensors: so this works with any strategy, whose variables
      # are not those that a gradient is recorded of.
      states = [*zip(weights, values, strict=True), *seeds]
      with keras.StatelessScope(state_mapping=states):
        return plain_call(
          inputs, padding_mask=padding_mask, training=training, **kwargs
        )

    return tf.recompute_grad(forward)(
      inputs, *[tf.convert_to_tensor(weight) for weight in weights]
    )

  return call
