"""The encoder and the span head as one Keras model."""

import keras

from bert_span.modeling.span_head import SpanHead


class SpanModel(keras.Model):
  """Start and end logits for windows of question and context.

  Args:
    backbone: a keras_hub.models.BertBackbone.
    head: a SpanHead.
    **kwargs: passed to keras.Model.

  Attributes:
    backbone: the encoder.
    head: the span head.

  Call arguments:
    inputs: dict of token_ids, segment_ids and padding_mask, each int32
      [batch, seq_length]; padding_mask is 1 on WordPieces and 0 on padding.

  Returns:
    dict of start_logits and end_logits, each float32 [batch, seq_length].

  All variables exist once the model does, so an optimizer can be built at
  once.

  Example:

      backbone = keras_hub.models.BertBackbone(
        vocabulary_size=100,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=16,
      )
      model = SpanModel(backbone, SpanHead())
      ids = keras.ops.ones((1, 12), "int32")
      model({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids})
  """

  # What the model gives, in the order of everything that passes it on.
  logit_names = ("start_logits", "end_logits")

  def __init__(self, backbone, head, name="span_model", **kwargs):
    inputs = backbone.input
    start_logits, end_logits = head(backbone(inputs)["sequence_output"])
    super().__init__(
      inputs=inputs,
      outputs={"start_logits": start_logits, "end_logits": end_logits},
      name=name,
      **kwargs,
    )
    self.backbone = backbone
    self.head = head

  def get_config(self):
    return {
      "name": self.name,
      "trainable": self.trainable,
      "backbone": keras.saving.serialize_keras_object(self.backbone),
      "head": keras.saving.serialize_keras_object(self.head),
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    config = dict(config)
    for part in ("backbone", "head"):
      config[part] = keras.saving.deserialize_keras_object(
        config[part], custom_objects={"SpanHead": SpanHead}
      )
    return cls(**config)


def build_span_model(backbone, head_bias=True):
  """Puts a new head with random weights onto an encoder.

  Args:
    backbone: a keras_hub.models.BertBackbone.
    head_bias: whether the head has a bias, as in the original's code; the
      paper has none.

  Returns:
    A SpanModel.
  """
  return SpanModel(backbone, SpanHead(use_bias=head_bias))


def assign_head(model, kernel, bias):
  """Fills the head with trained weights.

  Args:
    model: a SpanModel.
    kernel: float [hidden, 2].
    bias: float [2], or None for none.

  Raises:
    ValueError: the head has no bias while the weights do, or a shape differs.
  """
  head = model.head
  if tuple(kernel.shape) != tuple(head.kernel.shape):
    raise ValueError(
      f"The trained head has shape {list(kernel.shape)}, but this encoder "
      f"needs {list(head.kernel.shape)}."
    )
  if bias is not None and not head.use_bias:
    raise ValueError(
      "The trained head has a bias, but the model was built without one. "
      "Use --span_head_bias=true."
    )
  head.kernel.assign(kernel)
  if head.use_bias:
    head.bias.assign([0.0, 0.0] if bias is None else bias)
