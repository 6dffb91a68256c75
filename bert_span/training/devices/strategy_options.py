"""On which devices a training runs, as asked for; TensorFlow is not needed."""

import dataclasses

from bert_span.storage.options import check_options, option
from bert_span.training.devices.cluster import VARIABLE

ONE_DEVICE, MIRRORED, MULTI_WORKER, TPU = (
  "one_device",
  "mirrored",
  "multi_worker_mirrored",
  "tpu",
)
DISTRIBUTIONS = ("auto", ONE_DEVICE, MIRRORED, MULTI_WORKER, TPU)


@dataclasses.dataclass(frozen=True)
class StrategyOptions:
  """The devices to train on.

  Raises:
    ValueError: a value breaks the rule of its field.
  """

  distribution: str = option(
    "auto",
    "Devices to train on; auto is a TPU with --use_tpu, the workers that "
    "TF_CONFIG names, all GPUs if there are several, or else one device.",
    choices=DISTRIBUTIONS,
  )
  num_devices: int | None = option(
    None,
    "Number of devices of this machine to train on; by default all its GPUs. "
    "Without GPUs the CPU is divided into so many.",
    minimum=1,
  )
  use_tpu: bool = option(
    False, "Whether to train on a TPU, as with --distribution=tpu."
  )
  tpu_name: str | None = option(
    None,
    "Name of the Cloud TPU; by default the TPU of this machine, a TPU VM.",
  )
  tpu_zone: str | None = option(
    None, "Zone of the Cloud TPU; by default the zone of this machine."
  )
  gcp_project: str | None = option(
    None, "Project of the Cloud TPU; by default the project of this machine."
  )
  num_tpu_cores: int | None = option(
    None,
    "Number of cores that the TPU must have; any number if the flag is not "
    "given.",
    minimum=1,
  )

  def __post_init__(self):
    check_options(self)

  @property
  def is_tpu(self):
    """Whether a TPU is asked for."""
    return self.use_tpu or self.distribution == TPU


def check_strategy(options, execution, cluster):
  """Refuses what can be seen to be impossible without looking at devices.

  Args:
    options: StrategyOptions.
    execution: ExecutionOptions.
    cluster: Cluster, or None.

  Raises:
    ValueError: naming the flags and the remedy.
  """
  for wrong, message in (
    *_cluster_rules(options, cluster),
    *_tpu_rules(options, execution),
    (
      options.distribution == ONE_DEVICE and (options.num_devices or 1) > 1,
      f"--distribution=one_device with --num_devices={options.num_devices}: "
      "use --distribution=mirrored for several devices.",
    ),
    (
      options.distribution == ONE_DEVICE and execution.all_reduce != "auto",
      f"--all_reduce={execution.all_reduce} is for several devices: leave it "
      "out with --distribution=one_device.",
    ),
  ):
    if wrong:
      raise ValueError(message)


def _cluster_rules(options, cluster):
  """Pairs of whether a rule is broken, and what to say."""
  name = options.distribution
  num_workers = len(cluster.addresses) if cluster else 1
  yield (
    name == MULTI_WORKER and cluster is None,
    f"--distribution={MULTI_WORKER} needs the environment variable {VARIABLE}, "
    "which names the workers (see BUILD.md). For the devices of this machine "
    "use --distribution=mirrored.",
  )
  yield (
    num_workers > 1 and name in (ONE_DEVICE, MIRRORED),
    f"{VARIABLE} names {num_workers} workers, but --distribution={name} trains "
    f"on this machine alone: use --distribution={MULTI_WORKER}, or unset "
    f"{VARIABLE}.",
  )
  yield (
    cluster is not None and options.is_tpu,
    f"{VARIABLE} is for GPUs and CPUs: unset it to train on a TPU.",
  )


def _tpu_rules(options, execution):
  """Pairs of whether a rule is broken, and what to say."""
  yield (
    options.use_tpu and options.distribution not in ("auto", TPU),
    f"--use_tpu contradicts --distribution={options.distribution}: leave one "
    "of them out.",
  )
  if not options.is_tpu:
    return
  yield (
    options.num_devices is not None,
    "A TPU is used whole: leave --num_devices out. --num_tpu_cores says how "
    "many cores it must have.",
  )
  yield (
    execution.precision == "float16",
    "A TPU computes in bfloat16, not float16: use --precision=bfloat16.",
  )
  yield (
    execution.jit_compile == "on",
    "A TPU compiles every step as it is: leave --jit_compile out.",
  )
  yield (
    execution.all_reduce != "auto",
    f"--all_reduce={execution.all_reduce} is for GPUs and CPUs: a TPU has a "
    "network of its own. Leave it out.",
  )
