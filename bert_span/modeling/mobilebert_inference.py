"""MobileBERT for inference, see `InferenceEncoder`."""

import types

from keras import ops


class MobileBertInference:
  """Computes a `MobileBertBackbone` with the ops of an `InferenceEncoder`."""

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
    # The score of padding for all heads and queries, as in `InferenceEncoder`.
    is_padding = ops.equal(inputs["padding_mask"], 0)
    mask = ops.where(is_padding, -1e9, 0.0)[:, None, None]
    for i in range(settings.num_layers):
      hidden = self._layer(encoder, f"transformer_layer_{i}/", hidden, mask)
    return ops.reshape(hidden, [batch, seq_length, settings.hidden_dim])

  def _layer(self, encoder, layer, hidden, mask):
    """Computes a `MobileBertLayer`."""

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
