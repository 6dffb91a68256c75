"""A model computed in a form that loses little when its weights get 8 bits.

Weights with one scale a matrix are rounded to 1/127 of the largest of all.
Scales of one output each would be finer, but the Task Library's runtime refuses
them. So each output's own scale is taken out of the matrix and multiplied
afterwards, exactly the same function:

    y_j = sum_i x_i W_ij + b_j = s_j * sum_i x_i (W_ij / s_j) + b_j,
    s_j = max_i |W_ij|

and each token's embedding likewise: all entries of the matrices are then
between -1 and 1, and one scale suits them all.
"""

import keras
import numpy as np
import tensorflow as tf

from bert_span.modeling.keras_internals import sublayers
from bert_span.modeling.span_model import named_logits

# The score of padding before the softmax where scores get 8 bits. With Keras'
# -1e9 the smallest step is 4e6 and all real scores become one; with -40 a step
# is a quarter, and padding still gets e^-40.
CLIPPED_MASK = -40.0

# The largest scale of a matrix in steps: finer than float32's own rounding of
# what is multiplied.
_STEPS = 1 << 24


class QuantizableModel:
  """Gives the logits of a model from rescaled copies of its weights.

  Args:
    model: a `SpanModel`; it is not changed.
    masked_score: score of padding before the softmax; None keeps Keras' own.

  Attributes:
    logit_names: the model's.
    variables: list of tf.Variable, all that is read.
  """

  def __init__(self, model, masked_score=None):
    self.logit_names = model.logit_names
    self._head = model.head
    self._backbone = _copy(model.backbone)
    table = self._backbone.token_embedding.embeddings.numpy()
    self._tokens = _Rescaled(table, axes=(1,), shape=(-1, 1))
    self._dense_layers = []
    for layer in self._backbone.transformer_layers:
      for dense in sublayers(
        layer, (keras.layers.Dense, keras.layers.EinsumDense)
      ):
        dense.call = _RescaledDense(dense)
        self._dense_layers.append(dense.call)
      if masked_score is not None:
        (softmax,) = sublayers(layer, keras.layers.Softmax)
        softmax.call = _softmax_with(masked_score)
    self.variables = [
      *(variable.value for variable in self._backbone.variables),
      *(variable.value for variable in model.head.variables),
      *self._tokens.variables,
      *(v for layer in self._dense_layers for v in layer.weights.variables),
    ]

  def __call__(self, inputs):
    """The logits, as the model gives them.

    Args:
      inputs: dict of token_ids, segment_ids and padding_mask, int32
        [batch, seq_length].

    Returns:
      Dict by logit_names.
    """
    for dense in self._dense_layers:
      dense.is_run = inputs["padding_mask"][0, 0] >= 0
    backbone = self._backbone
    tokens = tf.gather(self._tokens.matrix, inputs["token_ids"])
    tokens *= self._tokens.scale(
      tf.gather(self._tokens.steps, inputs["token_ids"])
    )
    segments = tf.gather(
      backbone.segment_embedding.embeddings.value, inputs["segment_ids"]
    )
    hidden = tokens + backbone.position_embedding(tokens) + segments
    hidden = backbone.embeddings_layer_norm(hidden)
    for layer in backbone.transformer_layers:
      hidden = layer(hidden, padding_mask=inputs["padding_mask"])
    return named_logits(self._head, hidden)


class _Rescaled:
  """A matrix with entries from -1 to 1, and what it is multiplied by.

  The scales are whole numbers times a step, since the converter would round
  long vectors of floats to 8 bits as well.

  Args:
    values: float array.
    axes: axes over which one scale is taken.
    shape: of the scales.
  """

  def __init__(self, values, axes, shape):
    scale = np.abs(values).max(axes, keepdims=True)
    self.step = float(scale.max()) / _STEPS or 1.0
    # Rounded up, so that no entry exceeds 1.
    steps = np.maximum(np.ceil(scale / self.step), 1)
    self.matrix = tf.Variable((values / (steps * self.step)).astype(np.float32))
    self.steps = tf.Variable(steps.reshape(shape).astype(np.int32))

  @property
  def variables(self):
    return self.matrix, self.steps

  def scale(self, steps):
    """Some of the `steps` as what to multiply by, float32."""
    return tf.cast(steps, tf.float32) * self.step


class _RescaledDense:
  """What a dense layer calls, with scales multiplied after the matrix product.

  Args:
    dense: a built Dense or EinsumDense layer with a bias.

  Attributes:
    is_run: bool scalar, True but not for the converter to know: it would
      multiply a constant scale into the matrix.
  """

  def __init__(self, dense):
    kernel, self._bias = dense.kernel.numpy(), dense.bias.numpy()
    # Dense: [in, out]; EinsumDense: the inputs' axes, then those of the bias.
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


def _copy(backbone):
  copy = type(backbone).from_config(backbone.get_config())
  copy.set_weights(backbone.get_weights())
  return copy


def _softmax_with(masked_score):
  """A softmax that gives masked positions a score of its own."""

  def softmax(scores, mask=None):
    if mask is not None:
      scores = tf.where(tf.cast(mask, tf.bool), scores, masked_score)
    return tf.nn.softmax(scores)

  return softmax
