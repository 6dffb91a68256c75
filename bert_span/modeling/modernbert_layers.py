"""The transformer layers of ModernBERT, and their attention."""

import keras
import keras_hub
import numpy as np
from keras import ops

from bert_span.modeling.initializer import bert_initializer


@keras.saving.register_keras_serializable(package="bert_span")
class ModernBertEncoderLayer(keras.layers.Layer):
  """A transformer layer of a `ModernBertBackbone`.

  Args:
    num_heads, intermediate_dim, activation, layer_norm_epsilon, dropout,
      attention_dropout: see `ModernBertBackbone`.
    rope_max_wavelength: base of the rotary positions.
    sliding_window_size: see `ModernBertBackbone`; None for a global layer.
    normalizes_attention_inputs: whether it normalizes its inputs; False for the
      first layer.
  """

  def __init__(
    self,
    num_heads,
    intermediate_dim,
    rope_max_wavelength=10000.0,
    sliding_window_size=None,
    normalizes_attention_inputs=True,
    activation="gelu",
    layer_norm_epsilon=1e-5,
    dropout=0.0,
    attention_dropout=0.0,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.num_heads = num_heads
    self.intermediate_dim = intermediate_dim
    self.rope_max_wavelength = rope_max_wavelength
    self.sliding_window_size = sliding_window_size
    self.normalizes_attention_inputs = normalizes_attention_inputs
    self.activation = keras.activations.get(activation)
    self.layer_norm_epsilon = layer_norm_epsilon
    self.dropout = dropout
    self.attention_dropout = attention_dropout

  def build(self, inputs_shape):
    hidden_dim = inputs_shape[-1]
    self._self_attention_layer_norm = None
    if self.normalizes_attention_inputs:
      self._self_attention_layer_norm = make_layer_norm(
        self.layer_norm_epsilon,
        dtype=self.dtype_policy,
        name="self_attention_layer_norm",
      )
      self._self_attention_layer_norm.build(inputs_shape)
    self._self_attention_layer = ModernBertAttention(
      num_heads=self.num_heads,
      rope_max_wavelength=self.rope_max_wavelength,
      sliding_window_size=self.sliding_window_size,
      dropout=self.attention_dropout,
      dtype=self.dtype_policy,
      name="self_attention_layer",
    )
    self._self_attention_layer.build(inputs_shape)
    self._feedforward_layer_norm = make_layer_norm(
      self.layer_norm_epsilon,
      dtype=self.dtype_policy,
      name="feedforward_layer_norm",
    )
    self._feedforward_layer_norm.build(inputs_shape)

    def dense(name, width, **kwargs):
      return keras.layers.Dense(
        width,
        use_bias=False,
        kernel_initializer=bert_initializer(),
        dtype=self.dtype_policy,
        name=f"feedforward_{name}_dense",
        **kwargs,
      )

    self._feedforward_intermediate_dense = dense(
      "intermediate", self.intermediate_dim, activation=self.activation
    )
    self._feedforward_intermediate_dense.build(inputs_shape)
    self._feedforward_gate_dense = dense("gate", self.intermediate_dim)
    self._feedforward_gate_dense.build(inputs_shape)
    self._feedforward_output_dense = dense("output", hidden_dim)
    self._feedforward_output_dense.build(
      (*inputs_shape[:-1], self.intermediate_dim)
    )
    # Two layers, as a dropout layer draws one seed a call.
    self._self_attention_dropout, self._feedforward_dropout = (
      keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name=name)
      for name in ("self_attention_dropout", "feedforward_dropout")
    )
    self.built = True

  def call(self, inputs, padding_mask, training=None):
    """Returns float [batch, seq_length, hidden_dim], the shape of inputs."""
    x = inputs
    if self._self_attention_layer_norm:
      x = self._self_attention_layer_norm(x)
    x = self._self_attention_layer(x, padding_mask, training=training)
    x = inputs + self._self_attention_dropout(x, training=training)
    normalized = self._feedforward_layer_norm(x)
    change = self._feedforward_intermediate_dense(normalized)
    change = change * self._feedforward_gate_dense(normalized)
    change = self._feedforward_output_dense(change)
    return x + self._feedforward_dropout(change, training=training)

  def compute_output_shape(self, inputs_shape):
    return inputs_shape

  def get_config(self):
    return super().get_config() | {
      "num_heads": self.num_heads,
      "intermediate_dim": self.intermediate_dim,
      "rope_max_wavelength": self.rope_max_wavelength,
      "sliding_window_size": self.sliding_window_size,
      "normalizes_attention_inputs": self.normalizes_attention_inputs,
      "activation": keras.activations.serialize(self.activation),
      "layer_norm_epsilon": self.layer_norm_epsilon,
      "dropout": self.dropout,
      "attention_dropout": self.attention_dropout,
    }


@keras.saving.register_keras_serializable(package="bert_span")
class ModernBertAttention(keras.layers.Layer):
  """Self-attention with rotary positions, to all tokens or to neighbours.

  Args:
    num_heads: attention heads.
    rope_max_wavelength: base of the rotary positions.
    sliding_window_size: see `ModernBertBackbone`; None for all tokens.
    dropout: rate on attention probabilities.
  """

  def __init__(
    self,
    num_heads,
    rope_max_wavelength=10000.0,
    sliding_window_size=None,
    dropout=0.0,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.num_heads = num_heads
    self.rope_max_wavelength = rope_max_wavelength
    self.sliding_window_size = sliding_window_size
    self.dropout = dropout

  def build(self, inputs_shape):
    hidden_dim = inputs_shape[-1]
    head_size, remainder = divmod(hidden_dim, self.num_heads)
    if remainder or head_size % 2:
      raise ValueError(
        "hidden_dim must be an even multiple of num_heads: rotary positions "
        f"turn pairs of numbers. Received: {hidden_dim} and {self.num_heads}."
      )
    window = self.sliding_window_size
    if window is not None and (window < 2 or window % 2):
      raise ValueError(
        "sliding_window_size must be even and at least 2: half of it is on "
        f"each side of a token. Received: {window}."
      )
    heads_shape = (*inputs_shape[:-1], self.num_heads, head_size)

    def dense(name, equation, shape):
      return keras.layers.EinsumDense(
        equation,
        output_shape=shape,
        kernel_initializer=bert_initializer(),
        dtype=self.dtype_policy,
        name=name,
      )

    self._query_dense, self._key_dense, self._value_dense = (
      dense(name, "btd,dhk->bthk", heads_shape[1:])
      for name in ("query", "key", "value")
    )
    for layer in (self._query_dense, self._key_dense, self._value_dense):
      layer.build(inputs_shape)
    self._output_dense = dense(
      "attention_output", "bthk,hkd->btd", inputs_shape[1:]
    )
    self._output_dense.build(heads_shape)
    self._rotary_embedding = keras_hub.layers.RotaryEmbedding(
      self.rope_max_wavelength, dtype=self.dtype_policy, name="rotary_embedding"
    )
    self._dropout = keras.layers.Dropout(
      self.dropout, dtype=self.dtype_policy, name="attention_dropout"
    )
    self.built = True

  def call(self, inputs, padding_mask, training=None):
    """Returns float [batch, seq_length, hidden_dim], the shape of inputs."""
    # each [batch, seq_length, heads, head_size]
    query = self._rotary_embedding(self._query_dense(inputs))
    key = self._rotary_embedding(self._key_dense(inputs))
    value = self._value_dense(inputs)
    heads = attend(
      *(ops.swapaxes(part, 1, 2) for part in (query, key, value)),
      padding_mask,
      self.sliding_window_size,
      dropout=lambda weights: self._dropout(weights, training=training),
    )
    return self._output_dense(ops.swapaxes(heads, 1, 2))

  def compute_output_shape(self, inputs_shape):
    return inputs_shape

  def get_config(self):
    return super().get_config() | {
      "num_heads": self.num_heads,
      "rope_max_wavelength": self.rope_max_wavelength,
      "sliding_window_size": self.sliding_window_size,
      "dropout": self.dropout,
    }


def attend(
  query, key, value, padding_mask, sliding_window_size=None, dropout=None
):
  """Computes attention to all tokens, or to those in a sliding window.

  With a sliding window of 2 r, tokens are divided into blocks of r. A token
  attends to tokens of its own block and of the two blocks beside it. So each
  block has scores [r, 3 r]. With r = 2, token 2 attends to the tokens 0 to 4,
  and token 3 to the tokens 1 to 5:

      tokens       0 1 | 2 3 | 4 5
      scores of 2  x x | x x | x .
      scores of 3  . x | x x | x x

  Softmax is computed in float32.

  Args:
    query, key, value: float [batch, heads, seq_length, head_size].
    padding_mask: [batch, seq_length], 0 for padding, which gets no attention.
    sliding_window_size: neighbours that a token attends to, half of them on
      each side; even. None for all tokens.
    dropout: None, or a function of attention probabilities.

  Returns:
    float [batch, heads, seq_length, head_size].
  """
  shape = ops.shape(value)
  # [batch, 1, seq_length, 1], 1 for tokens
  mask = ops.cast(padding_mask, "bool")[:, None, :, None]
  near = True
  if sliding_window_size:
    size = sliding_window_size // 2
    # each [batch, heads, blocks, size or 3 * size, ..]
    query, key, value, mask = (
      _split_into_blocks(x, size) for x in (query, key, value, mask)
    )
    key, value, mask = map(_with_neighbours, (key, value, mask))
    distances = size + np.arange(size)[:, None] - np.arange(3 * size)
    near = np.abs(distances) <= size  # [size, 3 * size]
  # [.., 1, keys], or [.., size, 3 * size]
  mask = ops.logical_and(ops.swapaxes(mask, -1, -2), near)
  # Scaled before the product, which may overflow in float16 otherwise.
  query = query * query.shape[-1] ** -0.5
  scores = ops.matmul(query, ops.swapaxes(key, -1, -2))
  scores = ops.cast(scores, "float32") + ops.where(mask, 0.0, -1e9)
  weights = ops.cast(ops.softmax(scores), query.dtype)
  if dropout:
    weights = dropout(weights)
  heads = ops.matmul(weights, value)
  if sliding_window_size:
    heads = ops.reshape(heads, [shape[0], shape[1], -1, shape[3]])
    heads = heads[:, :, : shape[2]]
  return heads


def _split_into_blocks(x, size):
  """[batch, heads, seq_length, n] to [batch, heads, blocks, size, n]."""
  batch, heads, seq_length, width = ops.shape(x)
  x = ops.pad(x, [[0, 0], [0, 0], [0, -seq_length % size], [0, 0]])
  return ops.reshape(x, [batch, heads, -1, size, width])


def _with_neighbours(blocks):
  """Joins each block with the blocks before and after it, 0 at the ends."""
  padded = ops.pad(blocks, [[0, 0], [0, 0], [1, 1], [0, 0], [0, 0]])
  return ops.concatenate([padded[:, :, :-2], blocks, padded[:, :, 2:]], axis=3)


def make_layer_norm(epsilon, **kwargs):
  """Returns a LayerNormalization without a bias."""
  return keras.layers.LayerNormalization(
    epsilon=epsilon, center=False, **kwargs
  )
