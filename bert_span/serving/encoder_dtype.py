"""Encoders in half precision: half the size, and faster where the chip can."""

import keras

from bert_span.modeling.keras_internals import sublayers

DTYPES = ("float32", "bfloat16", "float16")


def cast_encoder(model, dtype):
  """The same model with its encoder in another precision.

  The encoder's variables and matrix products have `dtype`. Softmax and head
  stay float32: they sum over hundreds of positions. (LayerNorm computes in
  float32 whatever its dtype.)

  Args:
    model: a `SpanModel`; it is not changed.
    dtype: one of DTYPES.

  Returns:
    A model with the same head; `model` itself for float32.
  """
  if dtype not in DTYPES:
    raise ValueError(
      f"dtype must be one of {', '.join(DTYPES)}. Received: {dtype!r}"
    )
  if dtype == "float32":
    return model
  settings = {**model.backbone.get_config(), "dtype": dtype}
  backbone = type(model.backbone).from_config(settings)
  backbone.set_weights(model.backbone.get_weights())
  for softmax in sublayers(backbone, keras.layers.Softmax):
    softmax.dtype_policy = keras.DTypePolicy("float32")
  cast = type(model)(
    backbone, type(model.head).from_config(model.head.get_config())
  )
  cast.head.set_weights(model.head.get_weights())
  return cast
