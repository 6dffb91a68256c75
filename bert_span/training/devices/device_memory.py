"""The device that a training would run on, and its memory."""

import os
import resource
from typing import NamedTuple

import tensorflow as tf
from tensorflow.python.client import device_lib

# Resident memory of a process that trains, without what depends on the model
# and the batch; measured with benchmarks/training_step.py.
_PROGRAM_BYTES = 800_000_000
# Where Linux says how much memory a container may use: version 2 and 1.
_CONTAINER_LIMITS = (
  "/sys/fs/cgroup/memory.max",
  "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


class Device(NamedTuple):
  """A device and its memory.

  Attributes:
    description: such as "CPU (2 cores)".
    memory_bytes: what a training can have; None where nobody tells.
    program_bytes: what the program itself takes of it.
  """

  description: str
  memory_bytes: int | None
  program_bytes: int


def local_device():
  """The `Device` that TensorFlow places a model on: the first GPU, or the CPU.

  The memory of a GPU is what TensorFlow may allocate there; that of the CPU is
  the machine's, or the limit of the container.
  """
  gpus = tf.config.list_physical_devices("GPU")
  if not gpus:
    return Device(
      f"CPU ({os.cpu_count()} cores)", _host_bytes(), _PROGRAM_BYTES
    )
  name = tf.config.experimental.get_device_details(gpus[0]).get(
    "device_name", "GPU"
  )
  limits = [
    device.memory_limit
    for device in device_lib.list_local_devices()
    if device.device_type == "GPU"
  ]
  return Device(f"GPU ({name})", limits[0], 0)


def peak_bytes():
  """The most memory that this process has had on `local_device`."""
  if tf.config.list_physical_devices("GPU"):
    return tf.config.experimental.get_memory_info("GPU:0")["peak"]
  # Linux counts in KiB.
  return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _host_bytes():
  machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
  limits = [_container_limit(path) for path in _CONTAINER_LIMITS]
  return min([machine, *(limit for limit in limits if limit)])


def _container_limit(path):
  """Bytes that a container may use; None where there is no limit."""
  try:
    with open(path, encoding="ascii") as file:
      text = file.read().strip()
  except OSError:
    return None
  return int(text) if text.isdecimal() else None
