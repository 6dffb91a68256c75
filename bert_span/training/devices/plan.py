"""The devices that a training would have, found without taking them."""

import os
from typing import NamedTuple

import tensorflow as tf
from tensorflow.python.client import device_lib

from bert_span.training.devices.strategy import choose_strategy, named_workers
from bert_span.training.devices.strategy_options import (
  MULTI_WORKER,
  ONE_DEVICE,
  TPU,
  check_strategy,
)

_CORES_OF_A_TPU = 8
# Where Linux says how much memory a container may use: version 2 and 1.
_CONTAINER_LIMITS = (
  "/sys/fs/cgroup/memory.max",
  "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


class DevicePlan(NamedTuple):
  """The devices of a training."""

  description: str  # such as "2 x GPU (NVIDIA A100) (mirrored)"
  num_replicas: int  # devices that share a batch
  memory_bytes: int | None  # of each; None for a TPU, where it is not known
  is_local: bool = True  # whether a step can be measured on this machine


def plan_devices(options, execution, memory_gb=None):
  """Plans what `make_strategy` makes, without waiting for workers or a TPU.

  Workers are assumed to have the devices of this machine, and a TPU to have
  --num_tpu_cores, or 8. `memory_gb` is the memory of a device, None for what it
  has.
  """
  check_strategy(options, execution)
  gpus = tf.config.list_physical_devices("GPU")
  name = choose_strategy(options, len(gpus))
  if name == TPU:
    cores = options.num_tpu_cores or _CORES_OF_A_TPU
    memory_bytes = int(memory_gb * 1e9) if memory_gb else None
    return DevicePlan(f"{cores} TPU cores ({TPU})", cores, memory_bytes, False)
  here = 1 if name == ONE_DEVICE else options.num_devices or max(len(gpus), 1)
  replicas = here * (named_workers() if name == MULTI_WORKER else 1)
  if gpus:
    details = tf.config.experimental.get_device_details(gpus[0])
    device = f"GPU ({details.get('device_name', 'unknown')})"
    # What TensorFlow may allocate on the first GPU.
    memory_bytes = next(
      device.memory_limit
      for device in device_lib.list_local_devices()
      if device.device_type == "GPU"
    )
  else:
    device = f"CPU ({os.cpu_count()} cores)"
    # The replicas of one CPU share its memory.
    memory_bytes = _host_bytes() // here
  if memory_gb:
    memory_bytes = int(memory_gb * 1e9)
  return DevicePlan(f"{replicas} x {device} ({name})", replicas, memory_bytes)


def _host_bytes():
  """Memory of the machine, or of the container."""
  machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
  limits = [machine]
  for path in _CONTAINER_LIMITS:
    if os.path.exists(path):
      with open(path, encoding="ascii") as file:
        text = file.read().strip()
      if text.isdecimal():  # "max" is no limit.
        limits.append(int(text))
  return min(limits)
