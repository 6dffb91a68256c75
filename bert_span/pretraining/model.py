"""The encoder with the heads of pre-training, which compute in float32.

`MaskedLmHead` computes the same as KerasHub's MaskedLMHead, of layers that the
span boundary head needs, too.
"""

import keras
from keras import ops

from bert_span.modeling.heads import Float32Layer, float32_policy
from bert_span.modeling.initializer import bert_initializer


@keras.saving.register_keras_serializable(package="bert_span")
class PretrainingModel(keras.Model):
  """Scores all tokens of the vocabulary at masked positions.

  `backbone` is a keras_hub.models.BertBackbone. Without `span_boundary`, the
  attribute `span_boundary_head` is None.

  The model is called with a dict of int32 tensors: token_ids and padding_mask
  [batch, seq_length], and for the heads masked_positions; sbo_lefts, sbo_rights
  and sbo_positions, each [batch, targets]. All segment ids are 0. It returns a
  dict of each head's logits, mlm_logits and sbo_logits, float32 [batch,
  targets, vocab].
  """

  def __init__(
    self,
    backbone,
    span_boundary=True,
    name="pretraining_model",
    dtype="float32",
    **kwargs,
  ):
    # float32, so that the heads get the word embeddings without rounding. The
    # encoder keeps its policy.
    dtype = float32_policy(dtype, "PretrainingModel")
    super().__init__(name=name, dtype=dtype, **kwargs)
    self.backbone = backbone
    sizes = (backbone.hidden_dim, backbone.vocabulary_size)
    self.masked_lm_head = MaskedLmHead(*sizes)
    self.span_boundary_head = (
      SpanBoundaryHead(*sizes) if span_boundary else None
    )
    for head in filter(None, (self.masked_lm_head, self.span_boundary_head)):
      head.build((None, None, backbone.hidden_dim))
    self.built = True

  def call(self, inputs, training=None):
    ids, mask = inputs["token_ids"], inputs["padding_mask"]
    vectors = self.backbone(
      {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": mask},
      training=training,
    )["sequence_output"]
    embeddings = ops.convert_to_tensor(self.backbone.token_embedding.embeddings)
    logits = {
      "mlm_logits": self.masked_lm_head(
        vectors, inputs["masked_positions"], embeddings
      )
    }
    if self.span_boundary_head is not None:
      names = ("sbo_lefts", "sbo_rights", "sbo_positions")
      logits["sbo_logits"] = self.span_boundary_head(
        vectors, *[inputs[name] for name in names], embeddings
      )
    return logits

  def get_config(self):
    return {
      "name": self.name,
      "trainable": self.trainable,
      "backbone": keras.saving.serialize_keras_object(self.backbone),
      "span_boundary": self.span_boundary_head is not None,
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    backbone = keras.saving.deserialize_keras_object(config["backbone"])
    return cls(**{**config, "backbone": backbone})


@keras.saving.register_keras_serializable(package="bert_span")
class MaskedLmHead(Float32Layer):
  """The masked language model: P(token at i | vector x_i).

  logits_i = E LayerNorm(GELU(W x_i + b)) + c with the encoder's word embeddings
  E and a separate bias c.

  The layer is called with the encoder's vectors, float [batch, seq_length,
  hidden], positions, int32 [batch, targets], and E, float [vocab, hidden]. It
  returns float32 [batch, targets, vocab], unnormalized.

  Source: Devlin et al. 2019, section 3.1.
  """

  def __init__(
    self, hidden_dim, vocabulary_size, name="masked_lm_head", **kwargs
  ):
    super().__init__(name=name, **kwargs)
    self.transform = PredictionTransform(hidden_dim, name="transform")
    self.output_layer = TiedOutput(vocabulary_size, name="output")

  def build(self, sequence_shape, *unused_shapes):
    self.transform.build((None, None, sequence_shape[-1]))
    self.output_layer.build()

  def call(self, sequence_output, positions, embeddings):
    vectors = _gather(sequence_output, positions)
    return self.output_layer(self.transform(vectors), embeddings)


@keras.saving.register_keras_serializable(package="bert_span")
class SpanBoundaryHead(Float32Layer):
  """The span boundary objective: P(token at i | x_{s-1}, x_{e+1}, i - s + 1).

  For a masked span x_s..x_e and a token i of it,

      h0 = [x_{s-1}; x_{e+1}; p_{i-s+1}]
      h1 = LayerNorm(GELU(W1 h0 + b1))
      y_i = LayerNorm(GELU(W2 h1 + b2))
      logits_i = E y_i + c

  with the encoder's last vectors x, position embeddings p, the encoder's word
  embeddings E and a separate bias c.

  The layer is called as `MaskedLmHead`, but with the positions of the boundary
  tokens and i - s + 1, each int32 [batch, targets]. If i - s + 1 is 0, there is
  no target and the logits have no meaning.

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
    super().__init__(name=name, **kwargs)
    self.max_positions = max_positions
    self.position_dim = position_dim
    self.transform_1 = PredictionTransform(hidden_dim, name="transform_1")
    self.transform_2 = PredictionTransform(hidden_dim, name="transform_2")
    self.output_layer = TiedOutput(vocabulary_size, name="output")

  def build(self, sequence_shape, *unused_shapes):
    self.position_embeddings = self.add_weight(
      name="position_embeddings",
      shape=(self.max_positions, self.position_dim),
      initializer=bert_initializer(),
    )
    width = 2 * sequence_shape[-1] + self.position_dim
    self.transform_1.build((None, None, width))
    self.transform_2.build((None, None, self.transform_1.dense.units))
    self.output_layer.build()

  def call(self, sequence_output, lefts, rights, positions, embeddings):
    rows = ops.maximum(positions - 1, 0)  # Position 1 is the first row.
    vectors = [
      _gather(sequence_output, lefts),
      _gather(sequence_output, rights),
      ops.take(self.position_embeddings, rows, axis=0),
    ]
    h0 = ops.concatenate(vectors, axis=-1)  # [..., 2 * hidden + position_dim]
    vectors = self.transform_2(self.transform_1(h0))
    return self.output_layer(vectors, embeddings)


@keras.saving.register_keras_serializable(package="bert_span")
class PredictionTransform(Float32Layer):
  """LayerNorm(GELU(W x + b)), from any width to float32 [..., hidden_dim].

  Source: google-research/bert, run_pretraining.py, get_masked_lm_output.
  """

  def __init__(self, hidden_dim, **kwargs):
    super().__init__(**kwargs)
    self.dense = keras.layers.Dense(
      hidden_dim,
      kernel_initializer=bert_initializer(),
      dtype="float32",
      name="dense",
    )
    # The encoder has the same epsilon.
    self.layer_norm = keras.layers.LayerNormalization(
      epsilon=1e-12, dtype="float32", name="layer_norm"
    )

  def build(self, input_shape):
    self.dense.build(input_shape)
    self.layer_norm.build((*input_shape[:-1], self.dense.units))

  def call(self, vectors):
    # As the encoder: GELU in its tanh form.
    return self.layer_norm(ops.gelu(self.dense(vectors), approximate=True))


@keras.saving.register_keras_serializable(package="bert_span")
class TiedOutput(Float32Layer):
  """Scores every token by the encoder's word embeddings, plus a bias.

  In float32 the scores equal token_embedding(vectors, reverse=True). That
  computes in the encoder's precision: in bfloat16 its error is 2e-3.
  """

  def __init__(self, vocabulary_size, **kwargs):
    super().__init__(**kwargs)
    self.vocabulary_size = vocabulary_size

  def build(self, *unused_shapes):
    self.bias = self.add_weight(
      name="bias", shape=(self.vocabulary_size,), initializer="zeros"
    )

  def call(self, vectors, embeddings):
    # [batch, targets, hidden] and [vocab, hidden] -> [batch, targets, vocab].
    return ops.matmul(vectors, ops.transpose(embeddings)) + self.bias


def _gather(sequence_output, positions):
  """Returns the vectors at positions: [batch, targets, hidden]."""
  return ops.take_along_axis(sequence_output, positions[..., None], axis=1)
