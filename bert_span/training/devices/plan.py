"""The devices that a training would have, found out without taking them."""

import os
from typing import NamedTuple

import tensorflow as tf

from bert_span.training.devices.cluster import read_cluster
from bert_span.training.devices.device_memory import local_device
from bert_span.training.devices.strategy import choose_strategy
from bert_span.training.devices.strategy_options import (
  MULTI_WORKER,
  ONE_DEVICE,
  TPU,
  check_strategy,
)

_CORES_OF_A_TPU = 8


class DevicePlan(NamedTuple):
  """What would train, and the memory that each device of it has.

  Attributes:
    description: such as "2 x GPU (NVIDIA A100) (mirrored)".
    num_replicas: devices that share a batch.
    memory_bytes: of each; None where nobody tells.
    program_bytes: what the program itself takes of it.
  """

  description: str
  num_replicas: int
  memory_bytes: int | None
  program_bytes: int


def plan_devices(options, execution, environ=os.environ):
  """Plans what `make_strategy` makes; no worker is waited for, no TPU taken.

  Workers are taken to have the devices of this machine, and a TPU to have
  --num_tpu_cores, or 8, of a memory that is not known here.

  Args:
    options: StrategyOptions.
    execution: ExecutionOptions.
    environ: mapping that may hold TF_CONFIG.

  Returns:
    A DevicePlan.

  Raises:
    ValueError: the devices cannot be had together.
  """
  cluster = read_cluster(environ)
  check_strategy(options, execution, cluster)
  gpus = len(tf.config.list_physical_devices("GPU"))
  name = choose_strategy(options, cluster, gpus)
  if name == TPU:
    cores = options.num_tpu_cores or _CORES_OF_A_TPU
    return DevicePlan(f"{cores} TPU cores ({TPU})", cores, None, 0)
  here = 1 if name == ONE_DEVICE else options.num_devices or max(gpus, 1)
  workers = len(cluster.addresses) if name == MULTI_WORKER else 1
  device = local_device()
  # Parts of one CPU share its memory, and the program.
  share = 1 if gpus else here
  return DevicePlan(
    f"{here * workers} x {device.description} ({name})",
    here * workers,
    device.memory_bytes and device.memory_bytes // share,
    device.program_bytes // share,
  )
