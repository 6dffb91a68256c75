"""A model with rescaled weights, which lose little by 8-bit quantization.

Quantization with one scale a matrix rounds weights to 1/127 of the largest one.
One scale for each output would be finer, but the runtime of the Task Library
rejects it. So the scale of each output is taken out of the matrix and
multiplied afterwards, which computes the same function:

    y_j = sum_i x_i W_ij + b_j = s_j * sum_i x_i (W_ij / s_j) + b_j,
    s_j = max_i |W_ij|

and the same for the embedding of each token. All entries of the matrices are
then between -1 and 1, and one scale fits them all.
"""

import keras
import numpy as np
import tensorflow as tf

from bert_span.modeling.keras_internals import sublayers
from bert_span.modeling.span_model import named_logits

# The largest scale of a matrix in steps: finer than the rounding of float32.
_STEPS = 1 << 24


class QuantizableModel:
  """Computes the logits of a model from rescaled copies of its weights.

  Args:
    model: a `SpanModel`; it is not changed.

  Attributes:
    variables: list of tf.Variable, all that are read.
  """

  def __init__(self, model):
    self._head = model.head
    self._backbone = type(model.backbone).from_config(
      model.backbone.get_config()
    )
    self._backbone.set_weights(model.backbone.get_weights())
    table = self._backbone.token_embedding.embeddings.numpy()
    self._tokens = _Rescaled(table, axes=(1,), shape=(-1, 1))
    self._dense_layers = []
    for layer in self._backbone.transformer_layers:
      for dense in sublayers(
        layer, (keras.layers.Dense, keras.layers.EinsumDense)
      ):
        dense.call = _RescaledDense(dense)
        self._dense_layers.append(dense.call)
    self.variables = [
      *(variable.value for variable in self._backbone.variables),
      *(variable.value for variable in model.head.variables),
      *self._tokens.variables,
      *(v for layer in self._dense_layers for v in layer.weights.variables),
    ]

  def __call__(self, inputs):
    """Returns the logits of the model; inputs as of `SpanModel`."""
    for dense in self._dense_layers:
      dense.is_run = inputs["padding_mask"][0, 0] >= 0
    backbone, ids = self._backbone, inputs["token_ids"]
    tokens = tf.gather(self._tokens.matrix, ids)
    tokens *= self._tokens.scale(tf.gather(self._tokens.steps, ids))
    segments = tf.gather(
      backbone.segment_embedding.embeddings.value, inputs["segment_ids"]
    )
    hidden = tokens + backbone.position_embedding(tokens) + segments
    hidden = backbone.embeddings_layer_norm(hidden)
    for layer in backbone.transformer_layers:
      hidden = layer(hidden, padding_mask=inputs["padding_mask"])
    return named_logits(self._head, hidden)


class _Rescaled:
  """A matrix with entries from -1 to 1, and its scales.

  The scales are integers times a step: the converter would round long vectors
  of floats to 8 bits, too.

  Args:
    values: float array.
    axes: axes that share a scale.
    shape: of the scales.
  """

  def __init__(self, values, axes, shape):
    scale = np.abs(values).max(axes, keepdims=True)
    self._step = float(scale.max()) / _STEPS or 1.0
    # Rounded up, so that no entry exceeds 1.
    steps = np.maximum(np.ceil(scale / self._step), 1)
    matrix = values / (steps * self._step)
    self.matrix = tf.Variable(matrix.astype(np.float32))
    self.steps = tf.Variable(steps.reshape(shape).astype(np.int32))
    self.variables = [self.matrix, self.steps]

  def scale(self, steps):
    """The float32 factors of some of the `steps`."""
    return tf.cast(steps, tf.float32) * self._step


class _RescaledDense:
  """Replaces the call of a dense layer: multiplies by the scales afterwards.

  Args:
    dense: a built Dense or EinsumDense layer with a bias.

  Attributes:
    is_run: bool scalar that is always True, which the converter cannot know: it
      would multiply a constant scale into the matrix.
  """

  def __init__(self, dense):
    kernel, self._bias = dense.kernel.numpy(), dense.bias.numpy()
    # Dense: [in, out]; EinsumDense: the axes of the inputs, then of the bias.
    axes = tuple(range(kernel.ndim - self._bias.ndim))
    self.weights = _Rescaled(kernel, axes, self._bias.shape)
    self._equation = getattr(dense, "equation", "abc,cd->abd")
    self._activation = dense.activation
    self.is_run = None

  def __call__(self, inputs, **unused_training):
    weights = self.weights
    outputs = tf.einsum(self._equation, inputs, weights.matrix)
    steps = tf.where(self.is_run, weights.steps, 0)
    return self._activation(outputs * weights.scale(steps) + self._bias)
