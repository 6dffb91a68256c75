"""KerasHub's BertBackbone, set up to compute what the original computes."""

import keras
import keras_hub

from bert_span.modeling.keras_internals import sublayers

# The standard deviation that BertBackbone initializes with.
_KERASHUB_INITIALIZER_RANGE = 0.02


def build_encoder(config, dtype=None):
  """Builds an encoder with random weights.

  BertBackbone has the original's arithmetic: GELU in the tanh form, LayerNorm
  epsilon 1e-12 and normalization after each residual. It does not take two of
  the original's settings, a separate dropout rate for the attention
  probabilities and initializer_range. They are applied afterwards.

  Args:
    config: an EncoderConfig.
    dtype: a Keras dtype policy or its name; None is Keras' current one.

  Returns:
    A keras_hub.models.BertBackbone: token_ids, segment_ids and padding_mask
    int32 [batch, seq_length] to sequence_output [batch, seq_length, hidden]
    and pooled_output [batch, hidden].

  Source: google-research/bert, modeling.py, BertModel.
  """
  backbone = keras_hub.models.BertBackbone(
    vocabulary_size=config.vocabulary_size,
    num_layers=config.num_layers,
    num_heads=config.num_heads,
    hidden_dim=config.hidden_dim,
    intermediate_dim=config.intermediate_dim,
    # A layer built with rate 0 skips dropout forever: build with the higher
    # rate, then lower it where it is too high.
    dropout=max(config.dropout, config.attention_dropout),
    max_sequence_length=config.max_sequence_length,
    num_segments=config.num_segments,
    dtype=dtype,
  )
  if config.dropout != config.attention_dropout:
    _set_dropout(backbone, config.dropout, config.attention_dropout)
  scale = config.initializer_range / _KERASHUB_INITIALIZER_RANGE
  if scale != 1:
    # A truncated normal is cut at two deviations, so s times a draw with
    # deviation d is a draw with deviation s * d.
    for weight in backbone.weights:
      if weight.path.endswith(("/kernel", "/embeddings")):
        weight.assign(weight * scale)
  return backbone


def check_sequence_length(backbone, max_seq_length):
  """Refuses windows that the encoder has no position embeddings for."""
  if max_seq_length > backbone.max_sequence_length:
    raise ValueError(
      f"max_seq_length must be at most {backbone.max_sequence_length}, the "
      "number of positions this encoder was trained with. "
      f"Received: {max_seq_length}. Lower --max_seq_length."
    )


def attention_dropout(backbone):
  """The rate on the attention probabilities, which a preset cannot hold."""
  return _attention_dropout_layer(backbone.transformer_layers[0]).rate


def with_attention_dropout(backbone, rate):
  """Returns the encoder with another rate on the attention probabilities.

  It is a copy with the same weights, unless the rate is right already.
  """
  if attention_dropout(backbone) == rate:
    return backbone
  settings = backbone.get_config()
  copy = type(backbone).from_config(
    {**settings, "dropout": max(backbone.dropout, rate)}
  )
  copy.set_weights(backbone.get_weights())
  _set_dropout(copy, backbone.dropout, rate)
  return copy


def _set_dropout(backbone, hidden_rate, attention_rate):
  """Changes the rates of a built encoder, each at most the one built with."""
  for layer in sublayers(backbone, keras.layers.Dropout):
    layer.rate = hidden_rate
  for layer in backbone.transformer_layers:
    _attention_dropout_layer(layer).rate = attention_rate
  backbone.dropout = hidden_rate  # For the config.json of a preset.


def _attention_dropout_layer(transformer_layer):
  (attention,) = sublayers(transformer_layer, keras.layers.MultiHeadAttention)
  (dropout,) = sublayers(attention, keras.layers.Dropout)
  return dropout
