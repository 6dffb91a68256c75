"""Predicts the tokens of a masked span from the two tokens around it."""

import keras
from keras import ops

from bert_span.pretraining.heads.tied_output import (
  PredictionTransform,
  TiedOutput,
  gather_vectors,
  truncated_normal,
)


@keras.saving.register_keras_serializable(package="bert_span")
class SpanBoundaryHead(keras.layers.Layer):
  """The span boundary objective: P(token at i | x_{s-1}, x_{e+1}, i - s + 1).

  For a masked span x_s..x_e and a token i of it,

      h0 = [x_{s-1}; x_{e+1}; p_{i-s+1}]
      h1 = LayerNorm(GELU(W1 h0 + b1))
      y_i = LayerNorm(GELU(W2 h1 + b2))
      logits_i = E y_i + c

  with the encoder's last vectors x, position embeddings p, the encoder's word
  embeddings E and a bias c of its own. It computes in float32.

  Args:
    hidden_dim: width of the encoder's vectors, of h1 and of y.
    vocabulary_size: WordPieces in the vocabulary.
    max_positions: position embeddings; positions count from 1 to this.
    position_dim: width of a position embedding.
    **kwargs: passed to keras.layers.Layer.

  Call arguments:
    sequence_output: float [batch, seq_length, hidden].
    lefts, rights: int32 [batch, targets], positions of the boundary tokens.
    positions: int32 [batch, targets], i - s + 1; 0 for what is no target.
    embeddings: float [vocab, hidden], the encoder's word embeddings.

  Returns:
    float32 [batch, targets, vocab], unnormalized; without meaning where the
    position is 0.

  Source: Joshi et al. 2020 (SpanBERT), section 3.2 and appendix B.
  """

  def __init__(
    self,
    hidden_dim,
    vocabulary_size,
    max_positions=20,
    position_dim=200,
    name="span_boundary_head",
    **kwargs,
  ):
    super().__init__(name=name, **{**kwargs, "dtype": "float32"})
    self.max_positions = max_positions
    self.position_dim = position_dim
    self.position_embeddings = None
    self.transform_1 = PredictionTransform(hidden_dim, name="transform_1")
    self.transform_2 = PredictionTransform(hidden_dim, name="transform_2")
    self.output_layer = TiedOutput(vocabulary_size, name="output")

  def build(self, sequence_shape, *unused_shapes):
    hidden_dim = self.transform_1.dense.units
    self.position_embeddings = self.add_weight(
      name="position_embeddings",
      shape=(self.max_positions, self.position_dim),
      initializer=truncated_normal(),
    )
    width = 2 * sequence_shape[-1] + self.position_dim
    self.transform_1.build((None, None, width))
    self.transform_2.build((None, None, hidden_dim))
    self.output_layer.build()

  def call(self, sequence_output, lefts, rights, positions, embeddings):
    vectors = self.span_vectors(
      self.boundary_vectors(sequence_output, lefts, rights, positions)
    )
    return self.output_layer(vectors, embeddings)

  def boundary_vectors(self, sequence_output, lefts, rights, positions):
    """The vectors h0 of the targets.

    Args:
      sequence_output: float [batch, seq_length, hidden].
      lefts, rights, positions: see the class.

    Returns:
      float [batch, targets, 2 * hidden + position_dim].
    """
    rows = ops.maximum(positions - 1, 0)  # Position 1 is the first row.
    return ops.concatenate(
      [
        gather_vectors(sequence_output, lefts),
        gather_vectors(sequence_output, rights),
        ops.take(self.position_embeddings, rows, axis=0),
      ],
      axis=-1,
    )

  def span_vectors(self, boundary_vectors):
    """The vectors y_i that the targets are predicted from.

    Args:
      boundary_vectors: float [batch, targets, 2 * hidden + position_dim].

    Returns:
      float32 [batch, targets, hidden].
    """
    return self.transform_2(self.transform_1(boundary_vectors))
