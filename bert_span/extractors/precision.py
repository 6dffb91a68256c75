"""In which precision an encoder is fast on this machine."""

import time

import tensorflow as tf

ENCODER_DTYPES = "float32", "bfloat16", "float16"
# The first generation of NVIDIA's GPUs with instructions for bfloat16.
_AMPERE = 8, 0
# Of a processor they say too little: with AVX512_BF16 a product of this shape
# takes an AMD EPYC half of float32's time, and an Intel Xeon without AMX twice.
_PRODUCT = 512, 384, 1536  # rows, inputs, outputs
_CLEARLY_LESS = 0.8


def resolve_dtype(dtype):
  """The dtype of an encoder.

  Args:
    dtype: one of ENCODER_DTYPES, which is returned; or "auto": bfloat16 on a
      TPU, on a GPU that has instructions for it, and on a processor where a
      product takes less than 0.8 of float32's time, which is measured;
      otherwise float32.

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
