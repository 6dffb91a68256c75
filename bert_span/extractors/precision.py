"""The precision of the encoder of a model that answers."""

import time

import keras
import tensorflow as tf

from bert_span.modeling.encoder import (
  build_encoder,
  encoder_config,
  merged_weights,
)
from bert_span.modeling.keras_internals import sublayers

ENCODER_DTYPES = "float32", "bfloat16", "float16"
# Compute capability of the first NVIDIA GPUs with instructions for bfloat16.
_AMPERE = 8, 0
# A CPU's list of instructions does not tell its speed: with AVX512_BF16 a
# product of this shape takes half of float32's time on an AMD EPYC, and twice
# that time on an Intel Xeon without AMX.
_PRODUCT = 512, 384, 1536  # rows, inputs, outputs
_CLEARLY_LESS = 0.8


def resolve_dtype(dtype):
  """Returns the name of an encoder's dtype.

  Args:
    dtype: one of ENCODER_DTYPES, which is returned; or "auto": bfloat16 on a
      TPU, on a GPU that has instructions for it, and on a CPU that is measured
      to multiply matrices in less than 0.8 of float32's time; otherwise
      float32.

  Raises:
    ValueError: dtype is another name.
  """
  if dtype == "auto":
    return "bfloat16" if _is_bfloat16_fast() else "float32"
  if dtype not in ENCODER_DTYPES:
    raise ValueError(
      f"dtype must be auto or one of {', '.join(ENCODER_DTYPES)}. Received: "
      f"{dtype!r}."
    )
  return dtype


def with_encoder_dtype(extractor, dtype):
  """Returns a copy whose encoder computes in "bfloat16" or "float16".

  Its softmax, which sums over hundreds of positions, and its head compute in
  float32.
  """
  backbone = build_encoder(encoder_config(extractor.backbone), dtype)
  for softmax in sublayers(backbone, keras.layers.Softmax):
    softmax.dtype_policy = keras.DTypePolicy("float32")
  backbone.set_weights([v for _, v in merged_weights(extractor.backbone)])
  head = type(extractor.head).from_config(extractor.head.get_config())
  copy = type(extractor)(
    backbone, extractor.preprocessor, extractor.decoder_options, head
  )
  copy.head.set_weights(extractor.head.get_weights())
  copy.head_is_trained = extractor.head_is_trained
  return copy


def _is_bfloat16_fast():
  if tf.config.list_physical_devices("TPU"):
    return True
  gpus = tf.config.list_physical_devices("GPU")
  if gpus:
    details = map(tf.config.experimental.get_device_details, gpus)
    return all(d.get("compute_capability", (0,)) >= _AMPERE for d in details)
  limit = _CLEARLY_LESS * _seconds_of_product("float32")
  return _seconds_of_product("bfloat16") < limit


def _seconds_of_product(dtype):
  rows, inputs, outputs = _PRODUCT
  a, b = tf.ones((rows, inputs), dtype), tf.ones((inputs, outputs), dtype)
  seconds = []
  for _ in range(6):
    start = time.perf_counter()
    tf.linalg.matmul(a, b)
    seconds.append(time.perf_counter() - start)
  return min(seconds)
