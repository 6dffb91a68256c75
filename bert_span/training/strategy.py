"""The devices that train: one, several, several machines, or a TPU."""

import os

import tensorflow as tf

from bert_span.storage.log import log_line
from bert_span.training.options import (
  MIRRORED,
  MULTI_WORKER,
  ONE_DEVICE,
  TPU,
)
from bert_span.training.workers import num_workers

_LOCAL_TPU = "local"
_TF_CONFIG_EXAMPLE = (
  '{"cluster": {"worker": ["10.0.0.1:12345", "10.0.0.2:12345"]}, '
  '"task": {"type": "worker", "index": 0}}'
)


def make_strategy(options, execution):
  """Makes the strategy that a model is built and trained in.

  It must be made before TensorFlow has run anything: afterwards neither
  workers can be joined nor a CPU be divided.

  Several devices without any GPU are equal parts of the CPU: no faster than the
  whole, but a rehearsal.

  Example:
    strategy = make_strategy(StrategyOptions("mirrored"), ExecutionOptions())
    with strategy.scope():
      model = ...
    Trainer(model, ..., strategy=strategy)

  Returns:
    A tf.distribute.Strategy; TensorFlow's default one for one device.

  Raises:
    ValueError: the devices do not exist or cannot be used together.
  """
  gpus = tf.config.list_physical_devices("GPU")
  name = choose_strategy(options, len(gpus))
  if name == TPU:
    return _tpu_strategy(options)
  if execution.all_reduce == "nccl" and not gpus:
    raise ValueError(
      "--all_reduce=nccl is for GPUs, and there is none here. Leave it out."
    )
  devices = _devices(options.num_devices, gpus, name)
  if name == MULTI_WORKER:
    try:
      return tf.distribute.MultiWorkerMirroredStrategy()
    except (ValueError, TypeError, KeyError) as error:
      raise _tf_config_error(error) from error
  if name == MIRRORED:
    return tf.distribute.MirroredStrategy(devices)
  return tf.distribute.get_strategy()


def choose_strategy(options, num_gpus):
  """The name of the strategy, one of DISTRIBUTIONS without "auto".

  Raises:
    ValueError: the options do not fit the workers that TF_CONFIG names.
  """
  workers = named_workers()
  check_workers(options, workers)
  if options.is_tpu:
    return TPU
  if options.distribution != "auto":
    return options.distribution
  if workers > 1:
    return MULTI_WORKER
  return MIRRORED if (options.num_devices or num_gpus) > 1 else ONE_DEVICE


def check_workers(options, num_workers):
  """Refuses options that do not fit the number of workers in TF_CONFIG."""
  name = options.distribution
  if name == MULTI_WORKER and not num_workers:
    raise ValueError(
      f"--distribution={MULTI_WORKER} needs the environment variable "
      "TF_CONFIG, which names the workers (see BUILD.md). For the devices of "
      "this machine use --distribution=mirrored."
    )
  if name in (ONE_DEVICE, MIRRORED) and num_workers > 1:
    raise ValueError(
      f"TF_CONFIG names {num_workers} workers, but --distribution={name} "
      f"trains on this machine alone: use --distribution={MULTI_WORKER}, or "
      "unset TF_CONFIG."
    )
  if options.is_tpu and num_workers:
    raise ValueError(
      "TF_CONFIG is for GPUs and CPUs: unset it to train on a TPU."
    )


def named_workers():
  """The number of workers that TF_CONFIG names; 0 without a cluster."""
  if not os.environ.get("TF_CONFIG", "").strip():
    return 0
  try:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec().as_dict()
  except (ValueError, TypeError, AttributeError) as error:
    raise _tf_config_error(error) from error
  if set(cluster) - {"chief", "worker"}:
    raise _tf_config_error(
      f"only chief and worker train here, not {', '.join(sorted(cluster))}"
    )
  return sum(map(len, cluster.values()))


def describe_strategy(strategy):
  """Says on what a strategy trains, such as "8 GPUs (mirrored)"."""
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


def start_strategy(options, train_options):
  """Makes the strategy of a training, and logs it; see `make_strategy`."""
  strategy = make_strategy(options, train_options.execution)
  batch_size = train_options.train_batch_size
  per_replica = -(-batch_size // strategy.num_replicas_in_sync)  # rounded up
  log_line(
    f"Training on {describe_strategy(strategy)}, {per_replica} of a batch's "
    f"{batch_size} on each."
  )
  return strategy


def scope_of(strategy):
  """The scope in which variables are made; None is one device's strategy."""
  return (strategy or tf.distribute.get_strategy()).scope()


def computes_on_accelerator(strategy):
  """Whether the strategy's devices are GPUs or a TPU."""
  return isinstance(strategy, tf.distribute.TPUStrategy) or bool(
    tf.config.list_logical_devices("GPU")
  )


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
    reason = str(getattr(error, "message", error)).split("\n", 1)[0][:200]
    where = "on this machine" if name == _LOCAL_TPU else f"of the name {name}"
    raise ValueError(
      f"There is no TPU {where} that TensorFlow can use ({reason}). On a TPU "
      "VM install tensorflow-tpu instead of tensorflow and leave --tpu_name "
      "out; elsewhere leave --use_tpu and --distribution=tpu out."
    ) from error
  cores = strategy.num_replicas_in_sync
  if options.num_tpu_cores not in (None, cores):
    raise ValueError(
      f"--num_tpu_cores={options.num_tpu_cores}, but the TPU has {cores} "
      "cores. Leave the flag out."
    )
  return strategy


def _tf_config_error(problem):
  return ValueError(
    f"The environment variable TF_CONFIG cannot be used: {problem}. It looks "
    f"like {_TF_CONFIG_EXAMPLE}, with its own index for every worker. Unset it "
    f"to train on one machine. Received: {os.environ['TF_CONFIG']}"
  )
