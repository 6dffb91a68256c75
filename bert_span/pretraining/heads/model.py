"""The encoder with the heads for pre-training."""

import keras
from keras import ops

from bert_span.pretraining.heads.token_heads import (
  MaskedLmHead,
  SpanBoundaryHead,
)


@keras.saving.register_keras_serializable(package="bert_span")
class PretrainingModel(keras.Model):
  """Scores of all tokens at masked positions.

  Args:
    backbone: a keras_hub.models.BertBackbone.
    span_boundary: whether it has the head of the span boundary objective.
    **kwargs: passed to keras.Model.

  Attributes:
    backbone: the encoder.
    masked_lm_head: a MaskedLmHead.
    span_boundary_head: a SpanBoundaryHead, or None.

  Call arguments:
    inputs: dict of int32 tensors: token_ids and padding_mask [batch,
      seq_length], masked_positions [batch, targets], and for the span
      boundary objective sbo_lefts, sbo_rights and sbo_positions [batch,
      targets]. Sequences are single, so all segment ids are 0.

  Returns:
    dict of mlm_logits and, if it has that head, sbo_logits, each float32
    [batch, targets, vocab].
  """

  def __init__(
    self, backbone, span_boundary=True, name="pretraining_model", **kwargs
  ):
    # float32, so that the heads get the word embeddings unrounded. The encoder
    # keeps its own policy.
    super().__init__(name=name, **{**kwargs, "dtype": "float32"})
    self.backbone = backbone
    sizes = (backbone.hidden_dim, backbone.vocabulary_size)
    shape = (None, None, backbone.hidden_dim)
    self.masked_lm_head = MaskedLmHead(*sizes)
    self.masked_lm_head.build(shape)
    self.span_boundary_head = None
    if span_boundary:
      self.span_boundary_head = SpanBoundaryHead(*sizes)
      self.span_boundary_head.build(shape)
    self.built = True

  def call(self, inputs, training=None):
    sequence_output = self.backbone(
      {
        "token_ids": inputs["token_ids"],
        "segment_ids": ops.zeros_like(inputs["token_ids"]),
        "padding_mask": inputs["padding_mask"],
      },
      training=training,
    )["sequence_output"]
    embeddings = ops.convert_to_tensor(self.backbone.token_embedding.embeddings)
    logits = {
      "mlm_logits": self.masked_lm_head(
        sequence_output, inputs["masked_positions"], embeddings
      )
    }
    if self.span_boundary_head is not None:
      logits["sbo_logits"] = self.span_boundary_head(
        sequence_output,
        inputs["sbo_lefts"],
        inputs["sbo_rights"],
        inputs["sbo_positions"],
        embeddings,
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
