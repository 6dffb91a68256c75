"""Matrix products in half precision, with weights in float32."""

import contextlib

import keras

from bert_span.modeling.keras_internals import sublayers


@contextlib.contextmanager
def computing_in(backbone, precision):
  """Has an encoder compute in another precision for a while.

  Matrix products and what lies between them are computed in `precision`; the
  weights, their gradients and so the optimizer stay float32. Softmax stays
  float32 too, since it sums over hundreds of positions, and LayerNorm computes
  in float32 whatever comes in. Heads are float32 layers of their own.

  Afterwards the encoder is what it was, so that a model is saved and used in
  float32 however it was trained.

  Args:
    backbone: a keras_hub.models.BertBackbone.
    precision: "float32", "bfloat16" or "float16".
  """
  if precision == "float32":
    yield
    return
  layers = sublayers(backbone)
  before = [layer.dtype_policy for layer in layers]
  for layer in layers:
    is_softmax = isinstance(layer, keras.layers.Softmax)
    layer.dtype_policy = "float32" if is_softmax else f"mixed_{precision}"
  try:
    yield
  finally:
    for layer, policy in zip(layers, before, strict=True):
      layer.dtype_policy = policy
