"""The devices and processes of a training, and checks that they agree."""

import atexit
import os
import shutil
import tempfile

import tensorflow as tf

from bert_span.storage.log import log_line
from bert_span.training.options import MIRRORED, MULTI_WORKER, ONE_DEVICE, TPU

_TF_CONFIG_EXAMPLE = (
  '{"cluster": {"worker": ["10.0.0.1:12345", "10.0.0.2:12345"]}, '
  '"task": {"type": "worker", "index": 0}}'
)


def make_strategy(options, execution):
  """Makes the strategy of a training, before TensorFlow has run any op.

  Later, workers cannot be joined and a CPU cannot be divided.
  """
  gpus = tf.config.list_physical_devices("GPU")
  name = choose_strategy(options, len(gpus))
  if name == TPU:
    return _tpu_strategy(options)
  if execution.all_reduce == "nccl" and not gpus:
    raise ValueError(
      "all_reduce=nccl is for GPUs, and there is none here. Leave it out."
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
  """Returns the name of a strategy that fits the workers of TF_CONFIG."""
  workers, name = named_workers(), options.distribution
  if options.is_tpu:
    name = TPU
  elif name == "auto" and workers > 1:
    name = MULTI_WORKER
  elif name == "auto":
    is_one = (options.num_devices or num_gpus) <= 1
    name = ONE_DEVICE if is_one else MIRRORED
  fits = {MULTI_WORKER: workers > 0, TPU: workers == 0}.get(name, workers <= 1)
  if not fits:
    raise ValueError(
      f"distribution={name}, but the environment variable TF_CONFIG names "
      f"{workers} workers. It is for distribution={MULTI_WORKER} only (see "
      "docs/devices_and_clusters.md)."
    )
  return name


def named_workers():
  """Returns the number of workers that TF_CONFIG names; 0 without a cluster."""
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


def start_strategy(options, train_options):
  """Makes and logs the strategy of a training, see `make_strategy`."""
  strategy = make_strategy(options, train_options.execution)
  count, workers = strategy.num_replicas_in_sync, num_workers(strategy)
  kind = device_kind(strategy)
  suffix = f" of {workers} workers" if workers > 1 else ""
  batch_size = train_options.train_batch_size
  log_line(
    f"Training on {count} {kind}{'s' if count > 1 else ''}{suffix}, "
    f"{-(-batch_size // count)} of a batch's {batch_size} on each."
  )
  return strategy


def scope_of(strategy):
  """Returns the scope in which to make variables; strategy may be None."""
  return (strategy or tf.distribute.get_strategy()).scope()


def device_kind(strategy):
  """Returns the kind of the strategy's devices: "TPU core", "GPU" or "CPU"."""
  if isinstance(strategy, tf.distribute.TPUStrategy):
    return "TPU core"
  return "GPU" if tf.config.list_logical_devices("GPU") else "CPU"


def num_workers(strategy):
  """Returns the number of processes that train; strategy may be None."""
  if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
    return 1
  cluster = strategy.cluster_resolver.cluster_spec().as_dict()
  return sum(map(len, cluster.values())) or 1


def is_chief(strategy):
  """Returns whether this process writes the model; strategy may be None."""
  return strategy is None or strategy.extended.should_checkpoint


def worker_folder(strategy, output_dir):
  """Returns output_dir for the chief, else a temporary folder."""
  if is_chief(strategy):
    return output_dir
  folder = tempfile.mkdtemp(prefix="bert_span_worker_")
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  return folder


def worker_vote(strategy):
  """Returns a function of a bool: true if any worker's is; all must call it."""
  if num_workers(strategy) == 1:
    return bool
  total = _sum_over_replicas(strategy)
  return lambda is_so: total(int(is_so)) > 0


def check_same_step(strategy, step):
  """Refuses workers that have restored checkpoints of different steps."""
  if num_workers(strategy) == 1:
    return
  total = _sum_over_replicas(strategy)(step)
  if total != step * strategy.num_replicas_in_sync:
    raise ValueError(
      f"This worker is at step {step}, another one is not. Give all workers "
      "the same output_dir, on a file system that all of them share."
    )


def _sum_over_replicas(strategy):
  """Returns a function of an integer: its sum over all replicas."""

  @tf.function
  def total(value):
    def of_replica():
      context = tf.distribute.get_replica_context()
      # The sum must know the value's device. An argument has none.
      on_device = tf.identity(value)
      return context.all_reduce(tf.distribute.ReduceOp.SUM, on_device)

    return strategy.experimental_local_results(strategy.run(of_replica))[0]

  return lambda value: int(total(tf.constant(value)))


def _devices(num_devices, gpus, name):
  """Makes num_devices visible; returns their names, or None for all."""
  if not num_devices or (num_devices == 1 and not gpus):
    return None
  if gpus:
    if num_devices > len(gpus):
      raise ValueError(
        f"num_devices={num_devices}, but this machine has {len(gpus)} GPU"
        f"{'s' if len(gpus) > 1 else ''}. Lower it."
      )
    tf.config.set_visible_devices(gpus[:num_devices], "GPU")
    return None
  if name == MULTI_WORKER:
    raise ValueError(
      f"num_devices={num_devices}: a worker without GPUs has one device, its "
      "CPU. Leave it out, or start more workers."
    )
  tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * num_devices,
  )
  return [f"CPU:{index}" for index in range(num_devices)]


def _tpu_strategy(options):
  """Connects to the TPU and empties its memory."""
  name = options.tpu_name or "local"
  try:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(
      tpu=name, zone=options.tpu_zone, project=options.gcp_project
    )
    if name != "local":
      tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
  except (tf.errors.OpError, RuntimeError, ValueError, OSError) as error:
    reason = str(getattr(error, "message", error)).split("\n", 1)[0][:200]
    raise ValueError(
      f"TensorFlow can use no TPU of the name {name} ({reason}). On a TPU VM "
      "install tensorflow-tpu and leave tpu_name out; elsewhere leave use_tpu "
      "and distribution=tpu out."
    ) from error
  cores = strategy.num_replicas_in_sync
  if options.num_tpu_cores not in (None, cores):
    raise ValueError(
      f"num_tpu_cores={options.num_tpu_cores}, but the TPU has {cores} "
      "cores. Leave it out."
    )
  return strategy


def _tf_config_error(problem):
  return ValueError(
    f"The environment variable TF_CONFIG cannot be used: {problem}. It looks "
    f"like {_TF_CONFIG_EXAMPLE}, with its own index for every worker. Unset it "
    f"to train on one machine. Received: {os.environ['TF_CONFIG']}"
  )
