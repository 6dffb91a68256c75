"""In which precision an encoder is fast on this machine."""

import tensorflow as tf

ENCODER_DTYPES = "float32", "bfloat16", "float16"
# Linux' names of instructions for products of bfloat16. TensorFlow computes
# them by other instructions, slowly, where a processor has none of these.
_BFLOAT16_INSTRUCTIONS = {"avx512_bf16", "amx_bf16"}
# The first generation of NVIDIA's GPUs that has them.
_AMPERE = 8, 0


def resolve_dtype(dtype):
  """The dtype of an encoder.

  Args:
    dtype: one of ENCODER_DTYPES, which is returned; or "auto": bfloat16 on a
      processor, a GPU or a TPU that has instructions for it, otherwise float32.

  Raises:
    ValueError: dtype is another name.
  """
  if dtype == "auto":
    return "bfloat16" if _has_bfloat16() else "float32"
  if dtype not in ENCODER_DTYPES:
    raise ValueError(
      f"dtype must be auto or one of {', '.join(ENCODER_DTYPES)}. Received: "
      f"{dtype!r}."
    )
  return dtype


def processor_fields():
  """Dict of the first processor's fields in /proc/cpuinfo; {} without Linux."""
  fields = {}
  try:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
      for line in file:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
  except OSError:
    pass
  return fields


def _has_bfloat16():
  if tf.config.list_physical_devices("TPU"):
    return True
  gpus = tf.config.list_physical_devices("GPU")
  if gpus:
    details = map(tf.config.experimental.get_device_details, gpus)
    return all(d.get("compute_capability", (0,)) >= _AMPERE for d in details)
  flags = processor_fields().get("flags", "").split()
  return not _BFLOAT16_INSTRUCTIONS.isdisjoint(flags)
