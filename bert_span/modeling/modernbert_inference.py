"""ModernBERT for inference, see `InferenceEncoder`."""

import types

import keras_hub
from keras import ops

from bert_span.modeling.modernbert_layers import attend


class ModernBertInference:
  """Computes a `ModernBertBackbone` with the ops of an `InferenceEncoder`."""

  def __init__(self, backbone):
    self._num_heads = backbone.num_heads
    layers = backbone.transformer_layers
    self._activation = layers[0].activation
    self._layers = [types.SimpleNamespace(**x.get_config()) for x in layers]
    # One for each base of the rotary positions; they have no weights.
    self._rotary_embeddings = {
      base: keras_hub.layers.RotaryEmbedding(base, dtype=backbone.compute_dtype)
      for base in {layer.rope_max_wavelength for layer in layers}
    }

  def __call__(self, encoder, inputs):
    hidden = encoder.rows("token_embedding", inputs["token_ids"])
    batch, seq_length, hidden_dim = ops.shape(hidden)
    hidden = ops.reshape(hidden, [-1, hidden_dim])  # [tokens, hidden]
    hidden = encoder.layer_norm("embeddings_layer_norm", hidden)
    head_size = hidden_dim // self._num_heads
    heads_shape = [batch, seq_length, self._num_heads, head_size]
    for layer in self._layers:
      name = f"{layer.name}/self_attention_layer"
      x = hidden
      if layer.normalizes_attention_inputs:
        x = encoder.layer_norm(f"{name}_norm", x)
      query, key, value = (
        ops.reshape(encoder.dense(f"{name}/{dense}", x), heads_shape)
        for dense in ("query", "key", "value")
      )
      rotate = self._rotary_embeddings[layer.rope_max_wavelength]
      heads = attend(
        *map(encoder.with_heads_swapped, (rotate(query), rotate(key), value)),
        inputs["padding_mask"],
        layer.sliding_window_size,
      )
      heads = ops.reshape(encoder.with_heads_swapped(heads), [-1, hidden_dim])
      hidden += encoder.dense(f"{name}/attention_output", heads)
      name = f"{layer.name}/feedforward"
      x = encoder.layer_norm(f"{name}_layer_norm", hidden)
      inner = self._activation(encoder.dense(f"{name}_intermediate_dense", x))
      inner *= encoder.dense(f"{name}_gate_dense", x)
      hidden += encoder.dense(f"{name}_output_dense", inner)
    hidden = encoder.layer_norm("final_layer_norm", hidden)
    return ops.reshape(hidden, [batch, seq_length, hidden_dim])
