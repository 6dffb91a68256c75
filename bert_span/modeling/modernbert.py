"""ModernBERT: a BERT for long texts, with rotary positions and local layers.

Every third layer is global: each token attends to all tokens of its window. The
other layers are local: with a sliding window of 128, a token attends to itself
and to 64 tokens on each side. So their cost grows linearly with length.

    layer    0       1      2      3       4      5
    attends  global  local  local  global  local  local

Layers normalize their inputs (pre-normalization). The first layer does not, as
the embeddings are normalized already. No layer has a bias.

Source: Warner et al. 2024, arXiv 2412.13663, section 2.
"""

import keras
import keras_hub

from bert_span.modeling.initializer import bert_initializer
from bert_span.modeling.modernbert_layers import (
  ModernBertEncoderLayer,
  make_layer_norm,
)


@keras.saving.register_keras_serializable(package="bert_span")
class ModernBertBackbone(keras_hub.models.Backbone):
  """The encoder of ModernBERT, in the manner of KerasHub's `BertBackbone`.

  Its inputs are token_ids and padding_mask, int32 [windows, seq_length]; its
  output is float [windows, seq_length, hidden_dim]. The defaults are those of
  ModernBERT-base.

  Args:
    vocabulary_size: rows of the token embeddings.
    num_layers: transformer layers.
    num_heads: attention heads in a layer; hidden_dim is an even multiple of it.
    hidden_dim: width of a token's vector.
    intermediate_dim: width inside a feed-forward network, after its gate.
    max_sequence_length: tokens of the longest training sequence. No weight
      depends on it.
    global_attn_every_n_layers: n; the layers 0, n, 2 n, .. are global, the
      others local.
    sliding_window_size: neighbours that a token of a local layer attends to,
      half of them on each side; even.
    global_rope_max_wavelength: base of the rotary positions of global layers.
    local_rope_max_wavelength: base of the rotary positions of local layers.
    activation: name or function; it is applied to the half of a feed-forward
      network that is not its gate.
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
      embeddings_initializer=bert_initializer(),
      dtype=dtype,
      name="token_embedding",
    )
    self.embeddings_layer_norm = make_layer_norm(
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
    self.final_layer_norm = make_layer_norm(
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
