"""The devices that train: one, several, several machines, or a TPU."""

import atexit
import os
import shutil
import tempfile

import tensorflow as tf

from bert_span.training.devices.cluster import read_cluster
from bert_span.training.devices.strategy_options import (
  MIRRORED,
  MULTI_WORKER,
  ONE_DEVICE,
  TPU,
  check_strategy,
)

_LOCAL_TPU = "local"


def make_strategy(options, execution, environ=os.environ):
  """Makes the strategy that a model is built and trained in.

  It must be made before TensorFlow has run anything: afterwards neither
  workers can be joined nor a CPU be divided.

  `auto` is a TPU if one is asked for, the workers if TF_CONFIG names several,
  all GPUs if there are several (or --num_devices are asked for), else one
  device. Several devices without any GPU are equal parts of the CPU: no
  faster than the whole, but a rehearsal.

  Example:
    strategy = make_strategy(StrategyOptions("mirrored"), ExecutionOptions())
    with strategy.scope():
      model = ...
    Trainer(model, ..., strategy=strategy)

  Args:
    options: StrategyOptions.
    execution: ExecutionOptions.
    environ: mapping that may hold TF_CONFIG.

  Returns:
    A tf.distribute.Strategy; TensorFlow's default one for one device.

  Raises:
    ValueError: the devices do not exist or cannot be had together.
  """
  cluster = read_cluster(environ)
  check_strategy(options, execution, cluster)
  gpus = tf.config.list_physical_devices("GPU")
  name = choose_strategy(options, cluster, len(gpus))
  if name == TPU:
    return _tpu_strategy(options)
  if execution.all_reduce == "nccl" and not gpus:
    raise ValueError(
      "--all_reduce=nccl is for GPUs, and there is none here. Leave it out."
    )
  devices = _devices(options.num_devices, gpus, name)
  if name == MULTI_WORKER:
    return tf.distribute.MultiWorkerMirroredStrategy()
  if name == MIRRORED:
    return tf.distribute.MirroredStrategy(devices)
  return tf.distribute.get_strategy()


def choose_strategy(options, cluster, num_gpus):
  """Chooses the strategy.

  Args:
    options: StrategyOptions.
    cluster: Cluster, or None.
    num_gpus: GPUs of this machine.

  Returns:
    Its name, one of DISTRIBUTIONS without "auto".
  """
  if options.is_tpu:
    return TPU
  if options.distribution != "auto":
    return options.distribution
  if cluster and len(cluster.addresses) > 1:
    return MULTI_WORKER
  wanted = options.num_devices or num_gpus
  return MIRRORED if wanted > 1 else ONE_DEVICE


def describe_strategy(strategy):
  """Says on what a strategy trains.

  Args:
    strategy: tf.distribute.Strategy.

  Returns:
    str, such as "8 GPUs (mirrored)".
  """
  if isinstance(strategy, tf.distribute.TPUStrategy):
    return f"{strategy.num_replicas_in_sync} TPU cores (tpu)"
  kind = "GPU" if tf.config.list_logical_devices("GPU") else "CPU"
  count = strategy.num_replicas_in_sync
  if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
    workers = num_workers(strategy)
    return f"{count} {kind}s of {workers} workers ({MULTI_WORKER})"
  if isinstance(strategy, tf.distribute.MirroredStrategy):
    return f"{count} {kind}{'s' if count > 1 else ''} ({MIRRORED})"
  return f"1 {kind} ({ONE_DEVICE})"


def num_workers(strategy):
  """Processes that train together."""
  resolver = strategy.cluster_resolver
  if resolver is None or not is_multi_worker(strategy):
    return 1
  return sum(map(len, resolver.cluster_spec().as_dict().values()))


def is_multi_worker(strategy):
  """Whether several processes may train together."""
  return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)


def is_chief(strategy):
  """Whether this process writes the model and what belongs to it.

  Args:
    strategy: tf.distribute.Strategy, or None for one device.
  """
  if strategy is None or not is_multi_worker(strategy):
    return True
  resolver = strategy.cluster_resolver
  has_chief = "chief" in resolver.cluster_spec().jobs
  return resolver.task_type == "chief" or (
    not has_chief and resolver.task_id == 0
  )


def scope_of(strategy):
  """The scope in which variables are made; None for one device's."""
  return (strategy or tf.distribute.get_strategy()).scope()


def computes_on_accelerator(strategy):
  """Whether the strategy's devices are GPUs or a TPU."""
  return isinstance(strategy, tf.distribute.TPUStrategy) or bool(
    tf.config.list_logical_devices("GPU")
  )


def own_folder(strategy, output_dir):
  """The folder that this process writes to.

  Args:
    strategy: tf.distribute.Strategy.
    output_dir: folder of the run.

  Returns:
    output_dir; for a worker that is not the chief a new temporary folder,
    which goes with the process.
  """
  if is_chief(strategy):
    return output_dir
  folder = tempfile.mkdtemp(prefix="bert_span_worker_")
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  return folder


def _devices(num_devices, gpus, name):
  """Makes so many devices visible; their names, or None for all."""
  if gpus:
    if (num_devices or 1) > len(gpus):
      raise ValueError(
        f"--num_devices={num_devices}, but this machine has {len(gpus)} "
        f"GPU{'s' if len(gpus) > 1 else ''}. Lower it."
      )
    if num_devices:
      _configure(tf.config.set_visible_devices, gpus[:num_devices], "GPU")
    return None
  if num_devices is None or num_devices == 1:
    return None
  if name == MULTI_WORKER:
    raise ValueError(
      f"--num_devices={num_devices}: a worker without GPUs has one device, its "
      "CPU. Leave the flag out, or start more workers."
    )
  parts = [tf.config.LogicalDeviceConfiguration()] * num_devices
  cpu = tf.config.list_physical_devices("CPU")[0]
  _configure(tf.config.set_logical_device_configuration, cpu, parts)
  return [f"CPU:{index}" for index in range(num_devices)]


def _configure(function, *arguments):
  """Calls what TensorFlow allows only before it has run anything."""
  try:
    function(*arguments)
  except RuntimeError as error:
    raise ValueError(
      "The devices must be chosen before TensorFlow has run anything in this "
      f"process ({error}). Call make_strategy first."
    ) from error


def _tpu_strategy(options):
  """Connects to the TPU and empties its memory."""
  name = options.tpu_name or _LOCAL_TPU
  try:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
      tpu=name, zone=options.tpu_zone, project=options.gcp_project
    )
    if name != _LOCAL_TPU:
      tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
  # The Cloud client raises RuntimeError and OSError, TensorFlow its own.
  except (tf.errors.OpError, RuntimeError, ValueError, OSError) as error:
    raise ValueError(_no_tpu(name, error)) from error
  cores = strategy.num_replicas_in_sync
  if options.num_tpu_cores not in (None, cores):
    raise ValueError(
      f"--num_tpu_cores={options.num_tpu_cores}, but the TPU has {cores} "
      "cores. Leave the flag out."
    )
  return strategy


def _no_tpu(name, error):
  first_line = str(getattr(error, "message", error)).split("\n", 1)[0][:200]
  where = "on this machine" if name == _LOCAL_TPU else f"of the name {name}"
  return (
    f"There is no TPU {where} that TensorFlow can use ({first_line}). On a TPU "
    "VM install tensorflow-tpu instead of tensorflow and leave --tpu_name out; "
    "elsewhere leave --use_tpu and --distribution=tpu out."
  )
