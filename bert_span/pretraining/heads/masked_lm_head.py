"""Predicts masked tokens from the encoder's vectors at their positions."""

import keras

from bert_span.pretraining.heads.tied_output import (
  PredictionTransform,
  TiedOutput,
  gather_vectors,
)


@keras.saving.register_keras_serializable(package="bert_span")
class MaskedLmHead(keras.layers.Layer):
  """The masked language model: P(token at i | vector x_i).

  logits_i = E LayerNorm(GELU(W x_i + b)) + c with the encoder's word
  embeddings E and a bias c of its own. It computes in float32.

  Args:
    hidden_dim: width of the encoder's vectors.
    vocabulary_size: WordPieces in the vocabulary.
    **kwargs: passed to keras.layers.Layer.

  Call arguments:
    sequence_output: float [batch, seq_length, hidden].
    positions: int32 [batch, targets].
    embeddings: float [vocab, hidden], the encoder's word embeddings.

  Returns:
    float32 [batch, targets, vocab], unnormalized.

  Source: Devlin et al. 2019, section 3.1; google-research/bert,
  run_pretraining.py, get_masked_lm_output.
  """

  def __init__(
    self, hidden_dim, vocabulary_size, name="masked_lm_head", **kwargs
  ):
    super().__init__(name=name, **{**kwargs, "dtype": "float32"})
    self.transform = PredictionTransform(hidden_dim, name="transform")
    self.output_layer = TiedOutput(vocabulary_size, name="output")

  def build(self, sequence_shape, *unused_shapes):
    self.transform.build((None, None, sequence_shape[-1]))
    self.output_layer.build()

  def call(self, sequence_output, positions, embeddings):
    vectors = gather_vectors(sequence_output, positions)
    return self.output_layer(self.transform(vectors), embeddings)
