"""MobileBERT: a deep and thin BERT with bottlenecks, made for devices.

A layer narrows hidden_dim to intra_bottleneck_size, computes attention and
several small feed-forward networks at that width, and widens the result. The
embedding of a token is joined with those of its two neighbours. With the
published sizes (512 outside of layers, 128 inside, embeddings of 128):

    tokens [seq_length, 128] -> trigrams [seq_length, 384] -> [seq_length, 512]
    layer:  512 -> 128 (values of attention: 512) -> 4 feed-forwards -> 512

Source: Sun et al. 2020, arXiv 2004.02984; google-research/mobilebert.
"""

import keras
import keras_hub
from keras import ops

from bert_span.modeling.initializer import bert_initializer
from bert_span.modeling.mobilebert_layers import (
  MobileBertLayer,
  make_dense,
  make_norm,
)


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
    trigram_input: whether the embedding of a token is joined with those of its
      two neighbours, 0 at the ends of the sequence.
    use_bottleneck: whether layers compute at a smaller width.
    intra_bottleneck_size: the smaller width; None is hidden_dim.
    use_bottleneck_attention: whether queries, keys and values are computed from
      the narrowed inputs of a layer.
    key_query_shared_bottleneck: whether queries and keys are computed from a
      bottleneck of their own; not used with use_bottleneck_attention.
    num_feedforward_networks: feed-forward networks in a layer.
    normalization_type: "no_norm" (`NoNorm`) or "layer_norm".
    layer_norm_epsilon: added to the variance by LayerNorm.
    outer_norm_epsilon: the epsilon after the embeddings and after the last
      feed-forward network of a layer; None is layer_norm_epsilon.
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
    width = embedding_dim or hidden_dim

    # Layers.
    def table(rows, width, name):
      return keras.layers.Embedding(
        *(rows, width, bert_initializer()),
        dtype=dtype,
        name=f"{name}_embedding",
      )

    self.token_embedding = table(vocabulary_size, width, "token")
    self.embeddings_projection = None
    if trigram_input or width != hidden_dim:
      self.embeddings_projection = make_dense(
        hidden_dim, dtype=dtype, name="embeddings_projection"
      )
    self.position_embedding = keras_hub.layers.PositionEmbedding(
      max_sequence_length,
      bert_initializer(),
      dtype=dtype,
      name="position_embedding",
    )
    self.segment_embedding = table(num_segments, hidden_dim, "segment")
    self.embeddings_layer_norm = make_norm(
      normalization_type,
      outer_norm_epsilon or layer_norm_epsilon,
      dtype=dtype,
      name="embeddings_layer_norm",
    )
    self.embeddings_dropout = keras.layers.Dropout(
      dropout, dtype=dtype, name="embeddings_dropout"
    )
    self.transformer_layers = [
      MobileBertLayer(
        num_heads,
        hidden_dim,
        intermediate_dim,
        use_bottleneck=use_bottleneck,
        intra_bottleneck_size=intra_bottleneck_size,
        use_bottleneck_attention=use_bottleneck_attention,
        key_query_shared_bottleneck=key_query_shared_bottleneck,
        num_feedforward_networks=num_feedforward_networks,
        normalization_type=normalization_type,
        layer_norm_epsilon=layer_norm_epsilon,
        outer_norm_epsilon=outer_norm_epsilon,
        dropout=dropout,
        dtype=dtype,
        name=f"transformer_layer_{i}",
      )
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
    self.vocabulary_size = vocabulary_size
    self.num_layers = num_layers
    self.num_heads = num_heads
    self.hidden_dim = hidden_dim
    self.intermediate_dim = intermediate_dim
    self.embedding_dim = embedding_dim
    self.trigram_input = trigram_input
    self.use_bottleneck = use_bottleneck
    self.intra_bottleneck_size = intra_bottleneck_size
    self.use_bottleneck_attention = use_bottleneck_attention
    self.key_query_shared_bottleneck = key_query_shared_bottleneck
    self.num_feedforward_networks = num_feedforward_networks
    self.normalization_type = normalization_type
    self.layer_norm_epsilon = layer_norm_epsilon
    self.outer_norm_epsilon = outer_norm_epsilon
    self.dropout = dropout
    self.max_sequence_length = max_sequence_length
    self.num_segments = num_segments
    self.cls_token_index = 0

  def get_config(self):
    return super().get_config() | {
      "vocabulary_size": self.vocabulary_size,
      "num_layers": self.num_layers,
      "num_heads": self.num_heads,
      "hidden_dim": self.hidden_dim,
      "intermediate_dim": self.intermediate_dim,
      "embedding_dim": self.embedding_dim,
      "trigram_input": self.trigram_input,
      "use_bottleneck": self.use_bottleneck,
      "intra_bottleneck_size": self.intra_bottleneck_size,
      "use_bottleneck_attention": self.use_bottleneck_attention,
      "key_query_shared_bottleneck": self.key_query_shared_bottleneck,
      "num_feedforward_networks": self.num_feedforward_networks,
      "normalization_type": self.normalization_type,
      "layer_norm_epsilon": self.layer_norm_epsilon,
      "outer_norm_epsilon": self.outer_norm_epsilon,
      "dropout": self.dropout,
      "max_sequence_length": self.max_sequence_length,
      "num_segments": self.num_segments,
    }


@keras.saving.register_keras_serializable(package="bert_span")
class MobileBertTokenizer(keras_hub.models.BertTokenizer):
  """BERT's WordPieces. KerasHub looks a tokenizer up by its backbone."""

  backbone_cls = MobileBertBackbone
