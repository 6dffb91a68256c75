"""ModernBERT: a BERT for long texts, with rotary positions and local layers.

Every third layer is global: each token attends to all tokens of its window. The
other layers are local: with a sliding window of 128, a token attends to itself
and to 64 tokens on each side, so that their cost grows linearly with length:

    layer    0       1      2      3       4      5
    attends  global  local  local  global  local  local

Layers normalize their inputs (pre-normalization); the first one does not, as
the embeddings are normalized already. Nothing has a bias.

Source: Warner et al. 2024, arXiv 2412.13663, section 2.
"""

import keras
import keras_hub
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="bert_span")
class ModernBertBackbone(keras_hub.models.Backbone):
  """The encoder of ModernBERT, in the manner of KerasHub's `BertBackbone`.

  Its inputs are token_ids and padding_mask, int32 [windows, seq_length]; its
  output is float [windows, seq_length, hidden_dim]. The defaults are those of
  ModernBERT-base.

  Args:
    vocabulary_size: rows of the token embeddings.
    num_layers: transformer layers.
    num_heads: attention heads in a layer; hidden_dim is an even multiple.
    hidden_dim: width of a token's vector.
    intermediate_dim: width inside a feed-forward network, after its gate.
    max_sequence_length: tokens that the model was trained with. No weight
      depends on it.
    global_attn_every_n_layers: layers 0, n, 2 n, .. are global, others local.
    sliding_window_size: tokens around its own that a token of a local layer
      attends to, half of them on each side; even.
    global_rope_max_wavelength: base of the rotary positions of global layers.
    local_rope_max_wavelength: the same, of local layers.
    activation: name or function, of the half of a feed-forward network that is
      not its gate.
    layer_norm_epsilon: added to the variance by LayerNorm.
    dropout: rate after attention and feed-forward networks.
    attention_dropout: rate on attention probabilities.
    embedding_dropout: rate after the embeddings.
    dtype: as of any Keras layer.

  Example:

  ```python
  backbone = ModernBertBackbone(vocabulary_size=50368, num_layers=3)
  ids = np.array([[50281, 510, 12162, 50282, 50283]])
  backbone({"token_ids": ids, "padding_mask": np.array([[1, 1, 1, 1, 0]])})
  ```
  """

  def __init__(
    self,
    vocabulary_size,
    num_layers=22,
    num_heads=12,
    hidden_dim=768,
    intermediate_dim=1152,
    max_sequence_length=8192,
    global_attn_every_n_layers=3,
    sliding_window_size=128,
    global_rope_max_wavelength=160000.0,
    local_rope_max_wavelength=10000.0,
    activation="gelu",
    layer_norm_epsilon=1e-5,
    dropout=0.0,
    attention_dropout=0.0,
    embedding_dropout=0.0,
    dtype=None,
    **kwargs,
  ):
    # Layers.
    self.token_embedding = keras_hub.layers.ReversibleEmbedding(
      vocabulary_size,
      hidden_dim,
      embeddings_initializer=_initializer(),
      dtype=dtype,
      name="token_embedding",
    )
    self.embeddings_layer_norm = _layer_norm(
      layer_norm_epsilon, dtype=dtype, name="embeddings_layer_norm"
    )
    self.embeddings_dropout = keras.layers.Dropout(
      embedding_dropout, dtype=dtype, name="embeddings_dropout"
    )
    self.transformer_layers = []
    for i in range(num_layers):
      is_global = i % global_attn_every_n_layers == 0
      layer = ModernBertEncoderLayer(
        num_heads=num_heads,
        intermediate_dim=intermediate_dim,
        rope_max_wavelength=(
          global_rope_max_wavelength if is_global else local_rope_max_wavelength
        ),
        sliding_window_size=None if is_global else sliding_window_size,
        normalizes_attention_inputs=i > 0,
        activation=activation,
        layer_norm_epsilon=layer_norm_epsilon,
        dropout=dropout,
        attention_dropout=attention_dropout,
        dtype=dtype,
        name=f"transformer_layer_{i}",
      )
      self.transformer_layers.append(layer)
    self.final_layer_norm = _layer_norm(
      layer_norm_epsilon, dtype=dtype, name="final_layer_norm"
    )

    # Functional model.
    token_ids = keras.Input([None], dtype="int32", name="token_ids")
    padding_mask = keras.Input([None], dtype="int32", name="padding_mask")
    x = self.token_embedding(token_ids)
    x = self.embeddings_dropout(self.embeddings_layer_norm(x))
    for layer in self.transformer_layers:
      x = layer(x, padding_mask=padding_mask)
    super().__init__(
      inputs={"token_ids": token_ids, "padding_mask": padding_mask},
      outputs=self.final_layer_norm(x),
      dtype=dtype,
      **kwargs,
    )

    # Config.
    self.vocabulary_size = vocabulary_size
    self.num_layers = num_layers
    self.num_heads = num_heads
    self.hidden_dim = hidden_dim
    self.intermediate_dim = intermediate_dim
    self.max_sequence_length = max_sequence_length
    self.global_attn_every_n_layers = global_attn_every_n_layers
    self.sliding_window_size = sliding_window_size
    self.global_rope_max_wavelength = global_rope_max_wavelength
    self.local_rope_max_wavelength = local_rope_max_wavelength
    self.layer_norm_epsilon = layer_norm_epsilon
    self.dropout = dropout
    self.attention_dropout = attention_dropout
    self.embedding_dropout = embedding_dropout
    self.cls_token_index = 0

  @property
  def activation(self):
    """Activation function of all layers."""
    return self.transformer_layers[0].activation

  def get_config(self):
    return super().get_config() | {
      "vocabulary_size": self.vocabulary_size,
      "num_layers": self.num_layers,
      "num_heads": self.num_heads,
      "hidden_dim": self.hidden_dim,
      "intermediate_dim": self.intermediate_dim,
      "max_sequence_length": self.max_sequence_length,
      "global_attn_every_n_layers": self.global_attn_every_n_layers,
      "sliding_window_size": self.sliding_window_size,
      "global_rope_max_wavelength": self.global_rope_max_wavelength,
      "local_rope_max_wavelength": self.local_rope_max_wavelength,
      "activation": keras.activations.serialize(self.activation),
      "layer_norm_epsilon": self.layer_norm_epsilon,
      "dropout": self.dropout,
      "attention_dropout": self.attention_dropout,
      "embedding_dropout": self.embedding_dropout,
    }


@keras.saving.register_keras_serializable(package="bert_span")
class ModernBertEncoderLayer(keras.layers.Layer):
  """A transformer layer of a `ModernBertBackbone`.

  Args:
    num_heads, intermediate_dim, activation, layer_norm_epsilon, dropout,
      attention_dropout: see `ModernBertBackbone`.
    rope_max_wavelength: base of the rotary positions.
    sliding_window_size: see `ModernBertBackbone`; None for a global layer.
    normalizes_attention_inputs: False for the first layer.
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
      self._self_attention_layer_norm = _layer_norm(
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
    self._feedforward_layer_norm = _layer_norm(
      self.layer_norm_epsilon,
      dtype=self.dtype_policy,
      name="feedforward_layer_norm",
    )
    self._feedforward_layer_norm.build(inputs_shape)

    def dense(name, width, **kwargs):
      return keras.layers.Dense(
        width,
        use_bias=False,
        kernel_initializer=_initializer(),
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
    # Two, as a dropout layer draws one seed a call.
    self._self_attention_dropout, self._feedforward_dropout = (
      keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name=name)
      for name in ("self_attention_dropout", "feedforward_dropout")
    )
    self.built = True

  def call(self, inputs, padding_mask, training=None):
    """Returns [batch, seq_length, hidden_dim], as inputs has."""
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
  """Self-attention with rotary positions, to all tokens or to near ones.

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
    head_size, rest = divmod(hidden_dim, self.num_heads)
    if rest or head_size % 2:
      raise ValueError(
        "hidden_dim must be an even multiple of num_heads: rotary positions "
        f"turn pairs of numbers. Received: {hidden_dim} and {self.num_heads}"
      )
    window = self.sliding_window_size
    if window is not None and (window < 2 or window % 2):
      raise ValueError(
        "sliding_window_size must be even and at least 2, half of it for each "
        f"side. Received: {window}"
      )
    heads_shape = (*inputs_shape[:-1], self.num_heads, head_size)

    def dense(name, equation, shape):
      return keras.layers.EinsumDense(
        equation,
        output_shape=shape,
        kernel_initializer=_initializer(),
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
    """Returns [batch, seq_length, hidden_dim], as inputs has."""
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
  """Returns attention to all tokens, or to those in a sliding window.

  Within a window of 2 r, tokens are divided into blocks of r. What the tokens
  of a block attend to is in its own block and in both neighbours, so scores are
  [r, 3 r] for each block. With r = 2, the tokens 2 and 3 attend to 0 to 4, and
  to 1 to 5:

      tokens       0 1 | 2 3 | 4 5
      scores of 2  x x | x x | x .
      scores of 3  . x | x x | x x

  Softmax is float32.

  Args:
    query, key, value: float [batch, heads, seq_length, head_size].
    padding_mask: [batch, seq_length], 0 for padding, which gets no attention.
    sliding_window_size: tokens around its own, even; None for all tokens.
    dropout: function of the probabilities, if any.

  Returns:
    As value.
  """
  shape = ops.shape(value)
  # [batch, 1, seq_length, 1], 1 for tokens
  mask = ops.cast(padding_mask, "bool")[:, None, :, None]
  near = True
  if sliding_window_size:
    size = sliding_window_size // 2
    # each [batch, heads, blocks, size or 3 * size, ..]
    query, key, value, mask = (
      _blocks(part, size) for part in (query, key, value, mask)
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


def _blocks(x, size):
  """[batch, heads, seq_length, n] to [batch, heads, blocks, size, n]."""
  batch, heads, seq_length, width = ops.shape(x)
  x = ops.pad(x, [[0, 0], [0, 0], [0, -seq_length % size], [0, 0]])
  return ops.reshape(x, [batch, heads, -1, size, width])


def _with_neighbours(blocks):
  """Joins each block with the ones before and after it, 0 at the ends."""
  padded = ops.pad(blocks, [[0, 0], [0, 0], [1, 1], [0, 0], [0, 0]])
  return ops.concatenate([padded[:, :, :-2], blocks, padded[:, :, 2:]], axis=3)


def _layer_norm(epsilon, **kwargs):
  return keras.layers.LayerNormalization(
    epsilon=epsilon, center=False, **kwargs
  )


def _initializer():
  return keras.initializers.TruncatedNormal(stddev=0.02)
