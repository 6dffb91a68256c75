"""The devices that a user asks for; TensorFlow is not needed."""

import dataclasses

from bert_span.storage.options import check_options, option

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


def check_strategy(options, execution):
  """Refuses `StrategyOptions` that contradict themselves or the execution."""
  if options.is_tpu:
    _check_tpu(options, execution)
  if options.distribution != ONE_DEVICE:
    return
  if (options.num_devices or 1) > 1:
    raise ValueError(
      f"--distribution=one_device with --num_devices={options.num_devices}: "
      "use --distribution=mirrored for several devices."
    )
  if execution.all_reduce != "auto":
    raise ValueError(
      f"--all_reduce={execution.all_reduce} is for several devices: leave it "
      "out with --distribution=one_device."
    )


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


def _check_tpu(options, execution):
  if options.distribution not in ("auto", TPU):
    raise ValueError(
      f"--use_tpu contradicts --distribution={options.distribution}: leave one "
      "of them out."
    )
  if options.num_devices is not None:
    raise ValueError(
      "A TPU is used whole: leave --num_devices out. --num_tpu_cores says how "
      "many cores it must have."
    )
  if execution.precision == "float16":
    raise ValueError(
      "A TPU computes in bfloat16, not float16: use --precision=bfloat16."
    )
  if execution.jit_compile == "on":
    raise ValueError(
      "A TPU compiles every step in any case: leave --jit_compile out."
    )
  if execution.all_reduce != "auto":
    raise ValueError(
      f"--all_reduce={execution.all_reduce} is for GPUs and CPUs: a TPU has "
      "its own network. Leave it out."
    )
