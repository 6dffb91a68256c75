"""MobileBERT: a deep and thin BERT with bottlenecks, made for devices.

A layer narrows hidden_dim to intra_bottleneck_size, computes attention and
several small feed-forward networks at that width, and widens again. A token's
embedding is that of the token and of both its neighbours. With the published
sizes (512 wide outside, 128 inside, embeddings of 128):

    tokens [seq_length, 128] -> trigrams [seq_length, 384] -> [seq_length, 512]
    layer:  512 -> 128 (values of attention: 512) -> 4 feed-forwards -> 512

Source: Sun et al. 2020, arXiv 2004.02984; google-research/mobilebert.
"""

import types

import keras
import keras_hub
from keras import ops

# Of the LayerNorms that transformers gives no epsilon of config.json.
TRANSFORMERS_EPSILON = 1e-5
_KEEP_FORMAT = "Keep it in the format of this package."


@keras.saving.register_keras_serializable(package="bert_span")
class NoNorm(keras.layers.LayerNormalization):
  """Scales and shifts only, gamma * x + beta, where BERT normalizes."""

  def __init__(self, epsilon=None, **kwargs):
    super().__init__(epsilon=epsilon, **kwargs)

  def call(self, inputs):
    inputs = ops.cast(inputs, "float32")
    return ops.cast(inputs * self.gamma + self.beta, self.compute_dtype)


@keras.saving.register_keras_serializable(package="bert_span")
class MobileBertBackbone(keras_hub.models.Backbone):
  """The encoder of MobileBERT, in the manner of KerasHub's `BertBackbone`.

  Its inputs are token_ids, segment_ids and padding_mask, int32 [windows,
  seq_length]; its output is float [windows, seq_length, hidden_dim].

  Args:
    vocabulary_size, num_layers, num_heads: see `BertBackbone`.
    hidden_dim: width between layers.
    intermediate_dim: width inside a feed-forward network.
    embedding_dim: width of the token embeddings; None is hidden_dim.
    trigram_input: whether the embeddings of both neighbours, 0 at the ends of
      the sequence, are joined to that of a token.
    use_bottleneck: whether layers compute at a smaller width.
    intra_bottleneck_size: this width; None is hidden_dim.
    use_bottleneck_attention: whether queries, keys and values are computed from
      the bottleneck that the feed-forward networks have.
    key_query_shared_bottleneck: otherwise, whether queries and keys are
      computed from another bottleneck.
    num_feedforward_networks: feed-forward networks in a layer.
    normalization_type: "no_norm" (`NoNorm`) or "layer_norm".
    layer_norm_epsilon: added to the variance by LayerNorm.
    outer_norm_epsilon: the same, after the embeddings and the last feed-forward
      network of a layer; None is layer_norm_epsilon.
    dropout: rate after embeddings and layers, and on attention probabilities.
    max_sequence_length: rows of the position table.
    num_segments: rows of the segment table.
    dtype: as of any Keras layer.

  Example:

  ```python
  backbone = MobileBertBackbone(vocabulary_size=30522, num_layers=24)
  ids = np.array([[101, 2040, 102, 9617, 102]])
  mask = np.ones_like(ids)
  backbone({"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": mask})
  ```
  """

  def __init__(
    self,
    vocabulary_size,
    num_layers=24,
    num_heads=4,
    hidden_dim=512,
    intermediate_dim=512,
    embedding_dim=128,
    trigram_input=True,
    use_bottleneck=True,
    intra_bottleneck_size=128,
    use_bottleneck_attention=False,
    key_query_shared_bottleneck=True,
    num_feedforward_networks=4,
    normalization_type="no_norm",
    layer_norm_epsilon=1e-12,
    outer_norm_epsilon=None,
    dropout=0.0,
    max_sequence_length=512,
    num_segments=2,
    dtype=None,
    **kwargs,
  ):
    settings = dict(locals())
    for name in ("self", "dtype", "kwargs", "__class__"):
      del settings[name]
    width = embedding_dim or hidden_dim

    # Layers.
    def table(rows, width, name):
      return keras.layers.Embedding(
        *(rows, width, _initializer()), dtype=dtype, name=f"{name}_embedding"
      )

    self.token_embedding = table(vocabulary_size, width, "token")
    self.embeddings_projection = None
    if trigram_input or width != hidden_dim:
      self.embeddings_projection = _dense(
        hidden_dim, dtype=dtype, name="embeddings_projection"
      )
    self.position_embedding = keras_hub.layers.PositionEmbedding(
      max_sequence_length,
      _initializer(),
      dtype=dtype,
      name="position_embedding",
    )
    self.segment_embedding = table(num_segments, hidden_dim, "segment")
    self.embeddings_layer_norm = _norm(
      normalization_type,
      outer_norm_epsilon or layer_norm_epsilon,
      dtype=dtype,
      name="embeddings_layer_norm",
    )
    self.embeddings_dropout = keras.layers.Dropout(
      dropout, dtype=dtype, name="embeddings_dropout"
    )
    self.transformer_layers = [
      MobileBertLayer(settings, dtype=dtype, name=f"transformer_layer_{i}")
      for i in range(num_layers)
    ]

    # Functional model.
    inputs = {
      name: keras.Input([None], dtype="int32", name=name)
      for name in ("token_ids", "segment_ids", "padding_mask")
    }
    x = self.token_embedding(inputs["token_ids"])
    if trigram_input:
      padded = ops.pad(x, [[0, 0], [1, 1], [0, 0]])
      # The token to the right comes first.
      x = ops.concatenate([padded[:, 2:], x, padded[:, :-2]], -1)
    if self.embeddings_projection:
      x = self.embeddings_projection(x)
    positions = self.position_embedding(x)
    x = x + positions + self.segment_embedding(inputs["segment_ids"])
    x = self.embeddings_dropout(self.embeddings_layer_norm(x))
    for layer in self.transformer_layers:
      x = layer(x, padding_mask=inputs["padding_mask"])
    super().__init__(inputs=inputs, outputs=x, dtype=dtype, **kwargs)

    # Config.
    self._settings = tuple(settings)
    for name, value in settings.items():
      setattr(self, name, value)
    self.cls_token_index = 0

  def get_config(self):
    settings = {name: getattr(self, name) for name in self._settings}
    return super().get_config() | settings


@keras.saving.register_keras_serializable(package="bert_span")
class MobileBertTokenizer(keras_hub.models.BertTokenizer):
  """BERT's WordPieces; KerasHub looks a tokenizer up by its backbone."""

  backbone_cls = MobileBertBackbone


@keras.saving.register_keras_serializable(package="bert_span")
class MobileBertLayer(keras.layers.Layer):
  """A transformer layer of a `MobileBertBackbone`.

  settings: dict with the arguments of the backbone, which have the same names.
  """

  def __init__(self, settings, **kwargs):
    super().__init__(**kwargs)
    config = types.SimpleNamespace(**settings)
    self.use_bottleneck_attention = config.use_bottleneck_attention
    self.activation = keras.activations.relu
    hidden = width = config.hidden_dim
    if config.use_bottleneck:
      width = config.intra_bottleneck_size or hidden

    def make(kind, name, *arguments, **kwargs):
      return kind(*arguments, **kwargs, dtype=self.dtype_policy, name=name)

    def norm(name, epsilon=None):
      epsilon = epsilon or config.layer_norm_epsilon
      name = f"{name}_layer_norm"
      return make(_norm, name, config.normalization_type, epsilon)

    def bottleneck(name, width):
      name = f"{name}_bottleneck"
      return make(_dense, f"{name}_dense", width), norm(name)

    self._input_bottleneck = self._attention_bottleneck = None
    self._attention_dropout = self._output_bottleneck = None
    if config.use_bottleneck:
      self._input_bottleneck = bottleneck("input", width)
      self._output_bottleneck = bottleneck("output", hidden)
      is_own = not config.use_bottleneck_attention
      if is_own and config.key_query_shared_bottleneck:
        self._attention_bottleneck = bottleneck("attention", width)
    else:
      self._attention_dropout = make(
        keras.layers.Dropout, "self_attention_dropout", config.dropout
      )
    self._attention = make(
      keras.layers.MultiHeadAttention,
      "self_attention_layer",
      config.num_heads,
      width // config.num_heads,
      dropout=config.dropout,
      output_shape=width,
      kernel_initializer=_initializer(),
    )
    self._attention_norm = norm("self_attention")
    self._feedforwards = []
    for i in range(config.num_feedforward_networks):
      is_last = i == config.num_feedforward_networks - 1
      name = f"feedforward_{i}"
      layers = (
        make(_dense, f"{name}_intermediate_dense", config.intermediate_dim),
        make(_dense, f"{name}_output_dense", width),
        norm(name, config.outer_norm_epsilon if is_last else None),
      )
      self._feedforwards.append(layers)
    self._dropout = make(
      keras.layers.Dropout, "feedforward_dropout", config.dropout
    )

  def call(self, inputs, padding_mask=None, training=None):
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


class MobileBertInference:
  """Computes a `MobileBertBackbone` by the ops of an `InferenceEncoder`."""

  def __init__(self, backbone):
    self._settings = types.SimpleNamespace(**backbone.get_config())
    self._activation = backbone.transformer_layers[0].activation

  def __call__(self, encoder, inputs):
    settings = self._settings
    tokens = encoder.rows("token_embedding", inputs["token_ids"])
    batch, seq_length = ops.shape(inputs["token_ids"])
    if settings.trigram_input:
      padded = ops.pad(tokens, [[0, 0], [1, 1], [0, 0]])
      tokens = ops.concatenate([padded[:, 2:], tokens, padded[:, :-2]], -1)
    hidden = ops.reshape(tokens, [-1, tokens.shape[-1]])  # [tokens, width]
    if settings.trigram_input or hidden.shape[-1] != settings.hidden_dim:
      hidden = encoder.dense("embeddings_projection", hidden)
    positions = encoder.weight("position_embedding/embeddings")[:seq_length]
    segments = encoder.rows("segment_embedding", inputs["segment_ids"])
    hidden += ops.reshape(segments + positions, [-1, settings.hidden_dim])
    hidden = encoder.layer_norm("embeddings_layer_norm", hidden)
    # As in `InferenceEncoder`: the score of padding for all heads and queries.
    is_padding = ops.equal(inputs["padding_mask"], 0)
    mask = ops.where(is_padding, -1e9, 0.0)[:, None, None]
    for i in range(settings.num_layers):
      hidden = self._layer(encoder, f"transformer_layer_{i}/", hidden, mask)
    return ops.reshape(hidden, [batch, seq_length, settings.hidden_dim])

  def _layer(self, encoder, layer, hidden, mask):
    """`MobileBertLayer.call`."""

    def narrowed(name):
      narrow = encoder.dense(f"{layer}{name}_bottleneck_dense", hidden)
      return encoder.layer_norm(f"{layer}{name}_bottleneck_layer_norm", narrow)

    settings = self._settings
    narrow = query = value = hidden
    if settings.use_bottleneck:
      narrow = narrowed("input")
      if settings.use_bottleneck_attention:
        query = value = narrow
      elif settings.key_query_shared_bottleneck:
        query = narrowed("attention")
    attention = f"{layer}self_attention_layer"
    x = encoder.attention(attention, query, mask, value) + narrow
    x = encoder.layer_norm(f"{attention}_norm", x)
    for i in range(settings.num_feedforward_networks):
      name = f"{layer}feedforward_{i}"
      inner = encoder.dense(f"{name}_intermediate_dense", x)
      x += encoder.dense(f"{name}_output_dense", self._activation(inner))
      x = encoder.layer_norm(f"{name}_layer_norm", x)
    if not settings.use_bottleneck:
      return x
    wide = encoder.dense(f"{layer}output_bottleneck_dense", x) + hidden
    return encoder.layer_norm(f"{layer}output_bottleneck_layer_norm", wide)


def original_weights(config):
  """See `original_weights` in presets/encoder_weights.py.

  Source: google-research/mobilebert, modeling.py, transformer_model.
  """
  hidden, inner = config.hidden_dim, config.intermediate_dim
  embedding, width = config.embedding_dim or hidden, config.inner_dim
  is_no_norm = config.normalization_type == "no_norm"
  norm = "FakeLayerNorm" if is_no_norm else "LayerNorm"
  tables = [
    ("token", "word", (config.vocabulary_size, embedding)),
    ("position", "position", (config.max_sequence_length, hidden)),
    ("segment", "token_type", (config.num_segments, hidden)),
  ]
  weights = {
    f"{ours}_embedding/embeddings": (f"embeddings/{theirs}_embeddings", shape)
    for ours, theirs, shape in tables
  }
  layers = {"embeddings_layer_norm": (f"embeddings/{norm}", (hidden, hidden))}
  joined = 3 * embedding if config.trigram_input else embedding
  if config.trigram_input or embedding != hidden:
    name = "embeddings/embedding_transformation"
    layers["embeddings_projection"] = name, (joined, hidden)
  bottlenecks, query, value = [], width, width
  if config.use_bottleneck:
    bottlenecks = [
      ("input_bottleneck", "bottleneck/input", (hidden, width)),
      ("output_bottleneck", "output/bottleneck", (width, hidden)),
    ]
    if not config.use_bottleneck_attention:
      value = hidden
      if config.key_query_shared_bottleneck:
        shared = "attention_bottleneck", "bottleneck/attention", (hidden, width)
        bottlenecks.append(shared)
      else:
        query = hidden
  square = width, width
  of_layer = {
    "self_attention_layer/query": ("attention/self/query", (query, width)),
    "self_attention_layer/key": ("attention/self/key", (query, width)),
    "self_attention_layer/value": ("attention/self/value", (value, width)),
    "self_attention_layer/attention_output": ("attention/output/dense", square),
    "self_attention_layer_norm": (f"attention/output/{norm}", square),
  }
  for i in range(config.num_feedforward_networks):
    is_last = i == config.num_feedforward_networks - 1
    ours, theirs = f"feedforward_{i}", "" if is_last else f"ffn_layer_{i}/"
    intermediate = f"{theirs}intermediate/dense", (width, inner)
    of_layer[f"{ours}_intermediate_dense"] = intermediate
    of_layer[f"{ours}_output_dense"] = f"{theirs}output/dense", (inner, width)
    of_layer[f"{ours}_layer_norm"] = f"{theirs}output/{norm}", square
  for ours, theirs, shape in bottlenecks:
    of_layer[f"{ours}_dense"] = f"{theirs}/dense", shape
    of_layer[f"{ours}_layer_norm"] = f"{theirs}/{norm}", shape
  for i in range(config.num_layers):
    for ours, (theirs, shape) in of_layer.items():
      name = f"encoder/layer_{i}/{theirs}"
      layers[f"transformer_layer_{i}/{ours}"] = name, shape
  for ours, (theirs, shape) in layers.items():
    parts = {"kernel": shape, "bias": shape[1:]}
    if ours.endswith("layer_norm"):
      parts = {"gamma": shape[1:], "beta": shape[1:]}
    for part, size in parts.items():
      weights[f"{ours}/{part}"] = f"{theirs}/{part}", size
  return weights


def check_transformers(config):
  """Refuses an `EncoderConfig` that transformers' class cannot compute."""
  is_alone = not (
    config.use_bottleneck_attention or config.key_query_shared_bottleneck
  )
  if config.inner_dim != config.hidden_dim and is_alone:
    raise ValueError(
      "transformers has no MobileBERT whose queries are computed from "
      f"{config.hidden_dim} numbers at a width of {config.inner_dim}, without "
      "key_query_shared_bottleneck or use_bottleneck_attention. "
      f"{_KEEP_FORMAT}"
    )
  epsilon = config.outer_norm_epsilon or config.layer_norm_epsilon
  is_layer_norm = config.normalization_type == "layer_norm"
  if is_layer_norm and epsilon != TRANSFORMERS_EPSILON:
    raise ValueError(
      "transformers' MobileBERT with layer_norm has an epsilon of "
      f"{TRANSFORMERS_EPSILON} after the embeddings and the last feed-forward "
      f"network. Received: {epsilon}. {_KEEP_FORMAT}"
    )


def _initializer():
  return keras.initializers.TruncatedNormal(stddev=0.02)


def _dense(width, **kwargs):
  return keras.layers.Dense(width, kernel_initializer=_initializer(), **kwargs)


def _norm(normalization_type, epsilon, **kwargs):
  if normalization_type == "no_norm":
    return NoNorm(**kwargs)
  return keras.layers.LayerNormalization(epsilon=epsilon, **kwargs)


def _narrowed(bottleneck, inputs):
  dense, norm = bottleneck
  return norm(dense(inputs))
