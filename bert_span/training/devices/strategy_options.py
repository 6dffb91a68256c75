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
  """The devices to train on."""

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
    maximum=1_000,
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
  name, all_reduce = options.distribution, execution.all_reduce
  is_one, is_tpu = name == ONE_DEVICE, options.is_tpu
  for is_wrong, message in (
    (
      is_one and (options.num_devices or 1) > 1,
      f"--distribution=one_device with --num_devices={options.num_devices}: "
      "use --distribution=mirrored for several devices.",
    ),
    (
      is_tpu and name not in ("auto", TPU),
      f"--use_tpu contradicts --distribution={name}: leave one of them out.",
    ),
    (
      is_tpu and options.num_devices is not None,
      "A TPU is used whole: leave --num_devices out. --num_tpu_cores says how "
      "many cores it must have.",
    ),
    (
      is_tpu and execution.precision == "float16",
      "A TPU computes in bfloat16, not float16: use --precision=bfloat16.",
    ),
    (
      is_tpu and execution.jit_compile == "on",
      "A TPU compiles every step in any case: leave --jit_compile out.",
    ),
    (
      all_reduce != "auto" and (is_one or is_tpu),
      f"--all_reduce={all_reduce} is for several GPUs or workers: omit it.",
    ),
  ):
    if is_wrong:
      raise ValueError(message)


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
