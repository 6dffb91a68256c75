"""The encoder and the B/I/O head as one Keras model."""

import keras

from bert_span.modeling.bio_head import BioHead


class BioModel(keras.Model):
  """B/I/O logits for windows of question and context.

  Args:
    backbone: a keras_hub.models.BertBackbone.
    head: a BioHead.
    **kwargs: passed to keras.Model.

  Attributes:
    backbone: the encoder.
    head: the B/I/O head.

  Call arguments:
    inputs: dict of token_ids, segment_ids and padding_mask, each int32
      [batch, seq_length]; padding_mask is 1 on WordPieces and 0 on padding.

  Returns:
    dict of tag_logits, float32 [batch, seq_length, 3], in the order of TAGS.

  All variables exist once the model does, so an optimizer can be built at
  once.
  """

  # What the model gives, in the order of everything that passes it on.
  logit_names = ("tag_logits",)

  def __init__(self, backbone, head, name="tag_model", **kwargs):
    inputs = backbone.input
    tag_logits = head(backbone(inputs)["sequence_output"])
    super().__init__(
      inputs=inputs, outputs={"tag_logits": tag_logits}, name=name, **kwargs
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
        config[part], custom_objects={"BioHead": BioHead}
      )
    return cls(**config)


def build_bio_model(backbone):
  """Puts a new B/I/O head with random weights onto an encoder.

  Args:
    backbone: a keras_hub.models.BertBackbone.

  Returns:
    A BioModel.
  """
  return BioModel(backbone, BioHead())


def assign_bio_head(model, kernel, bias):
  """Fills the head with trained weights.

  Args:
    model: a BioModel.
    kernel: float [3, hidden].
    bias: float [3].

  Raises:
    ValueError: a shape differs.
  """
  head = model.head
  for name, values, weight in (
    ("kernel", kernel, head.kernel),
    ("bias", bias, head.bias),
  ):
    if tuple(values.shape) != tuple(weight.shape):
      raise ValueError(
        f"The {name} of the trained B/I/O head has shape {list(values.shape)}, "
        f"but this encoder needs {list(weight.shape)}."
      )
    weight.assign(values)
