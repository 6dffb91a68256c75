"""The transformer layers of MobileBERT, and its normalization."""

import keras
from keras import ops

from bert_span.modeling.initializer import bert_initializer


@keras.saving.register_keras_serializable(package="bert_span")
class NoNorm(keras.layers.LayerNormalization):
  """Computes gamma * x + beta in the place of BERT's LayerNormalization."""

  def __init__(self, epsilon=None, **kwargs):
    super().__init__(epsilon=epsilon, **kwargs)

  def call(self, inputs):
    # In float32 at least, as LayerNormalization.
    inputs, gamma, beta = (
      ops.cast(x, "float32") for x in (inputs, self.gamma, self.beta)
    )
    return ops.cast(inputs * gamma + beta, self.compute_dtype)


@keras.saving.register_keras_serializable(package="bert_span")
class MobileBertLayer(keras.layers.Layer):
  """A transformer layer of a `MobileBertBackbone`, with the same arguments."""

  def __init__(
    self,
    num_heads,
    hidden_dim,
    intermediate_dim,
    use_bottleneck=True,
    intra_bottleneck_size=None,
    use_bottleneck_attention=False,
    key_query_shared_bottleneck=True,
    num_feedforward_networks=4,
    normalization_type="no_norm",
    layer_norm_epsilon=1e-12,
    outer_norm_epsilon=None,
    dropout=0.0,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.num_heads = num_heads
    self.hidden_dim = hidden_dim
    self.intermediate_dim = intermediate_dim
    self.use_bottleneck = use_bottleneck
    self.intra_bottleneck_size = intra_bottleneck_size
    self.use_bottleneck_attention = use_bottleneck_attention
    self.key_query_shared_bottleneck = key_query_shared_bottleneck
    self.num_feedforward_networks = num_feedforward_networks
    self.normalization_type = normalization_type
    self.layer_norm_epsilon = layer_norm_epsilon
    self.outer_norm_epsilon = outer_norm_epsilon
    self.dropout = dropout
    self.activation = keras.activations.relu
    width = hidden_dim
    if use_bottleneck:
      width = intra_bottleneck_size or hidden_dim

    def make_named(make_layer, name, *arguments, **kwargs):
      return make_layer(
        *arguments, **kwargs, dtype=self.dtype_policy, name=name
      )

    def norm(name, epsilon=None):
      name = f"{name}_layer_norm"
      return make_named(
        make_norm, name, normalization_type, epsilon or layer_norm_epsilon
      )

    def bottleneck(name, width):
      name = f"{name}_bottleneck"
      return make_named(make_dense, f"{name}_dense", width), norm(name)

    self._input_bottleneck = self._attention_bottleneck = None
    self._attention_dropout = self._output_bottleneck = None
    if use_bottleneck:
      self._input_bottleneck = bottleneck("input", width)
      self._output_bottleneck = bottleneck("output", hidden_dim)
      if key_query_shared_bottleneck and not use_bottleneck_attention:
        self._attention_bottleneck = bottleneck("attention", width)
    else:
      self._attention_dropout = make_named(
        keras.layers.Dropout, "self_attention_dropout", dropout
      )
    self._attention = make_named(
      keras.layers.MultiHeadAttention,
      "self_attention_layer",
      num_heads,
      width // num_heads,
      dropout=dropout,
      output_shape=width,
      kernel_initializer=bert_initializer(),
    )
    self._attention_norm = norm("self_attention")
    self._feedforwards = []
    for i in range(num_feedforward_networks):
      is_last = i == num_feedforward_networks - 1
      name = f"feedforward_{i}"
      layers = (
        make_named(make_dense, f"{name}_intermediate_dense", intermediate_dim),
        make_named(make_dense, f"{name}_output_dense", width),
        norm(name, outer_norm_epsilon if is_last else None),
      )
      self._feedforwards.append(layers)
    self._dropout = make_named(
      keras.layers.Dropout, "feedforward_dropout", dropout
    )

  def call(self, inputs, padding_mask=None, training=None):
    """Returns float [batch, seq_length, hidden_dim], the shape of inputs."""
    narrow = query = value = inputs
    if self._input_bottleneck:
      narrow = _narrowed(self._input_bottleneck, inputs)
      if self.use_bottleneck_attention:
        query = value = narrow
      elif self._attention_bottleneck:
        query = _narrowed(self._attention_bottleneck, inputs)
    mask = padding_mask
    if mask is not None:
      mask = ops.expand_dims(ops.cast(mask, "bool"), 1)  # for all queries
    x = self._attention(
      query, value, key=query, attention_mask=mask, training=training
    )
    if self._attention_dropout:
      x = self._attention_dropout(x, training=training)
    x = self._attention_norm(x + narrow)
    for inner, outer, norm in self._feedforwards[:-1]:
      x = norm(outer(self.activation(inner(x))) + x)
    inner, outer, norm = self._feedforwards[-1]
    change = outer(self.activation(inner(x)))
    if not self._output_bottleneck:
      return norm(self._dropout(change, training=training) + x)
    widen, widened_norm = self._output_bottleneck
    change = widen(norm(change + x))
    return widened_norm(self._dropout(change, training=training) + inputs)

  def compute_output_shape(self, inputs_shape):
    return inputs_shape

  def get_config(self):
    return super().get_config() | {
      "num_heads": self.num_heads,
      "hidden_dim": self.hidden_dim,
      "intermediate_dim": self.intermediate_dim,
      "use_bottleneck": self.use_bottleneck,
      "intra_bottleneck_size": self.intra_bottleneck_size,
      "use_bottleneck_attention": self.use_bottleneck_attention,
      "key_query_shared_bottleneck": self.key_query_shared_bottleneck,
      "num_feedforward_networks": self.num_feedforward_networks,
      "normalization_type": self.normalization_type,
      "layer_norm_epsilon": self.layer_norm_epsilon,
      "outer_norm_epsilon": self.outer_norm_epsilon,
      "dropout": self.dropout,
    }


def make_dense(width, **kwargs):
  """Returns a Dense layer with BERT's initial weights."""
  return keras.layers.Dense(
    width, kernel_initializer=bert_initializer(), **kwargs
  )


def make_norm(normalization_type, epsilon, **kwargs):
  """Returns a `NoNorm` for "no_norm", else a LayerNormalization."""
  if normalization_type == "no_norm":
    return NoNorm(**kwargs)
  return keras.layers.LayerNormalization(epsilon=epsilon, **kwargs)


def _narrowed(bottleneck, inputs):
  dense, norm = bottleneck
  return norm(dense(inputs))
