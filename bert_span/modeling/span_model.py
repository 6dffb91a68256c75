"""The encoder and a head as one Keras model."""

import dataclasses

import keras
from keras import ops

from bert_span.modeling.encoder import (
  EncoderConfig,
  build_encoder,
  encode,
  encoder_config,
)


@keras.saving.register_keras_serializable(package="bert_span")
class SpanModel(keras.Model):
  """An encoder with a head: logits for windows of question and context.

  All variables exist as soon as the model does, so an optimizer can be built at
  once.

  Args:
    backbone: of `build_encoder`, or a backbone of KerasHub.
    head: a SpanHead, a BioHead or another layer that maps the encoder's
      vectors, float [batch, seq_length, hidden], to one tensor or a tuple of
      tensors. Its attribute logit_names names them in order.
    **kwargs: passed to keras.Model.

  Call arguments:
    inputs: dict of token_ids, segment_ids and padding_mask, each int32
      [batch, seq_length]; padding_mask is 1 on WordPieces and 0 on padding.

  Returns:
    dict from logit_names to float32 tensors: start_logits and end_logits
    [batch, seq_length], or tag_logits [batch, seq_length, 3].

  Example:

      model = SpanModel(build_encoder(EncoderConfig(30522)), SpanHead())
      ids = keras.ops.ones((1, 12), "int32")
      model({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids})
  """

  def __init__(self, backbone, head, name="span_model", **kwargs):
    inputs = {
      name: keras.Input((None,), dtype="int32", name=name)
      for name in ("token_ids", "segment_ids", "padding_mask")
    }
    super().__init__(
      inputs=inputs,
      outputs=named_logits(head, encode(backbone, inputs)),
      name=name,
      **kwargs,
    )
    self.backbone = backbone
    self.head = head

  @property
  def logit_names(self):
    return self.head.logit_names

  def get_config(self):
    return {
      "name": self.name,
      "trainable": self.trainable,
      "encoder": dataclasses.asdict(encoder_config(self.backbone)),
      "dtype": self.backbone.dtype_policy.name,
      "head": keras.saving.serialize_keras_object(self.head),
    }

  @classmethod
  def from_config(cls, config, custom_objects=None):
    return cls(
      build_encoder(EncoderConfig(**config["encoder"]), config["dtype"]),
      keras.saving.deserialize_keras_object(config["head"], custom_objects),
      name=config["name"],
      trainable=config["trainable"],
    )


def named_logits(head, sequence_output):
  """The logits of a head, as a dict by its logit_names."""
  logits = head(sequence_output)
  if not isinstance(logits, tuple):
    logits = (logits,)
  return dict(zip(head.logit_names, logits, strict=True))


def assign_head(model, tensors):
  """Fills a SpanModel's head with named arrays; a missing bias becomes 0."""
  head = model.head
  weights = {weight.name: weight for weight in head.weights}
  if "bias" in tensors and "bias" not in weights:
    raise ValueError(
      "The trained head has a bias, but the model has none. Use "
      "--span_head_bias=true."
    )
  if getattr(head, "use_bias", False):
    tensors = {"bias": ops.zeros_like(head.bias), **tensors}
  assign_weights(weights, tensors, f"the trained {head.name}")


def assign_weights(variables, tensors, source):
  """Fills all variables, a dict by name, with the arrays of those names."""
  for name, variable in variables.items():
    shape = list(tensors[name].shape) if name in tensors else None
    if shape != list(variable.shape):
      raise ValueError(
        f"{name} of {source} has shape {shape}, but the model needs "
        f"{list(variable.shape)}. Use the encoder and vocabulary of the head."
      )
  for name, variable in variables.items():
    variable.assign(tensors[name])
