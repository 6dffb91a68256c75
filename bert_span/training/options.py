"""How a model is trained; TensorFlow is not needed."""

import dataclasses
import os

from bert_span.options.fields import (
  CheckedOptions,
  changed,
  flag_name,
  option,
  option_fields,
)
from bert_span.presets.encoder_source import EncoderSource
from bert_span.storage.log import log_line
from bert_span.storage.options import OutputFolder

ONE_DEVICE = "one_device"
MIRRORED = "mirrored"
MULTI_WORKER = "multi_worker_mirrored"
TPU = "tpu"


@dataclasses.dataclass(frozen=True)
class ExecutionOptions(CheckedOptions):
  """How the arithmetic of a step is carried out; the update is the same."""

  precision: str = option(
    "float32",
    "Precision of the encoder's matrix products in training; weights, heads, "
    "softmax, loss and optimizer stay float32.",
    choices=("float32", "bfloat16", "float16"),
  )
  accumulate_steps: int = option(
    1,
    "Micro-batches into which a device divides its per-replica batch; their "
    "gradients are summed for one update, so that large batches need little "
    "memory.",
    minimum=1,
  )
  recompute: bool = option(
    False,
    "Whether to use gradient checkpointing: the backward pass computes each "
    "layer again instead of keeping its results.",
  )
  jit_compile: str = option(
    "auto",
    "Whether XLA compiles loss and gradients; auto does so on GPUs if all "
    "batches have one length.",
    choices=("auto", "on", "off"),
  )
  all_reduce: str = option(
    "auto",
    "How several GPUs or workers sum their gradients.",
    choices=("auto", "ring", "nccl"),
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainOptions(CheckedOptions):
  """The options that all trainings share."""

  train_batch_size: int = option(
    32,
    "Windows (in pre-training sequences) in a batch, over all devices.",
    minimum=1,
  )
  learning_rate: float = option(
    5e-5, "Highest learning rate of Adam, after the warm-up.", minimum=0.0
  )
  adam_bias_correction: bool = option(
    False, "Whether Adam corrects the bias of its averages; run_squad does not."
  )
  weight_decay: float = option(
    0.01,
    "Decoupled weight decay: the share of a weight that is subtracted at "
    "learning rate 1; biases and LayerNorm have none.",
    minimum=0.0,
    below=1.0,
    flag=False,
  )
  clip_norm: float = option(
    1.0, "Largest global norm of the gradients.", above=0.0, flag=False
  )
  save_checkpoints_steps: int = option(
    1000,
    "Steps from one checkpoint to the next. SIGTERM saves one more and ends "
    "the program with status 42; the same command resumes from there.",
    minimum=1,
  )
  keep_checkpoint_max: int = option(
    5,
    "Number of latest checkpoints to keep; if the latest is damaged, the one "
    "before it is used.",
    minimum=1,
  )
  iterations_per_loop: int = option(
    1000,
    "Most steps between two readings of loss and speed; a GPU or TPU runs up "
    "to 20 of them in one call.",
    minimum=1,
  )
  seed: int = option(
    12345,
    "Seed of initial weights, dropout and the order of batches.",
    minimum=0,
  )
  execution: ExecutionOptions = dataclasses.field(
    default_factory=ExecutionOptions
  )

  def __post_init__(self):
    super().__post_init__()
    micro_batches = self.execution.accumulate_steps
    if micro_batches > self.train_batch_size:
      raise ValueError(
        f"accumulate_steps={micro_batches} must be at most "
        f"train_batch_size={self.train_batch_size}."
      )


@dataclasses.dataclass(frozen=True)
class SelectionOptions(CheckedOptions):
  """When a model is scored during training, and by which metric."""

  eval_steps: int | None = option(
    None,
    "Steps of training from one evaluation to the next; without it the model "
    "is evaluated only after training.",
    minimum=1,
  )
  best_metric: str | None = option(
    None, "Metric of the best model; None keeps the last one.", flag=False
  )
  smaller_is_better: bool = option(
    False, "Whether that metric is a loss.", flag=False
  )
  early_stopping_patience: int | None = option(
    None,
    "With eval_steps: evaluations in a row without a better best_metric "
    "after which training ends; without it training runs to the end.",
    minimum=1,
    needs=("eval_steps", "best_metric"),
  )


@dataclasses.dataclass(frozen=True)
class StrategyOptions(CheckedOptions):
  """The devices to train on."""

  distribution: str = option(
    "auto",
    "Devices to train on; auto is a TPU with use_tpu, the workers that "
    "TF_CONFIG names, all GPUs if there are several, or else one device.",
    choices=("auto", ONE_DEVICE, MIRRORED, MULTI_WORKER, TPU),
  )
  num_devices: int | None = option(
    None,
    "Number of devices of this machine to train on; by default all its GPUs. "
    "Without GPUs the CPU is divided into so many.",
    minimum=1,
    maximum=1_000,
  )
  use_tpu: bool = option(
    False, "Whether to train on a TPU, as with distribution=tpu."
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
    flag_default=8,
  )

  @property
  def is_tpu(self):
    """Whether a TPU is asked for."""
    return self.use_tpu or self.distribution == TPU


def check_strategy(options, execution):
  """Refuses `StrategyOptions` that contradict themselves or the execution."""
  name, all_reduce = options.distribution, execution.all_reduce
  is_one, is_tpu = name == ONE_DEVICE, options.is_tpu
  for message, is_wrong in {
    f"num_devices={options.num_devices} needs distribution=mirrored.": (
      is_one and (options.num_devices or 1) > 1
    ),
    f"use_tpu contradicts distribution={name}: leave one of them out.": (
      is_tpu and name not in ("auto", TPU)
    ),
    "A TPU is used whole: leave num_devices out, or give num_tpu_cores.": (
      is_tpu and options.num_devices is not None
    ),
    "A TPU computes in bfloat16, not float16: use precision=bfloat16.": (
      is_tpu and execution.precision == "float16"
    ),
    "A TPU compiles every step in any case: leave jit_compile out.": (
      is_tpu and execution.jit_compile == "on"
    ),
    f"all_reduce={all_reduce} is for several GPUs or workers: omit it.": (
      all_reduce != "auto" and (is_one or is_tpu)
    ),
  }.items():
    if is_wrong:
      raise ValueError(message)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions(
  OutputFolder,
  EncoderSource,
  ExecutionOptions,
  SelectionOptions,
  StrategyOptions,
):
  """What the programs that train share, beside `TrainOptions`."""

  do_train: bool = option(False, "Whether to train.")
  eval_steps: int | None = changed(
    SelectionOptions, "eval_steps", needs=("do_train",)
  )
  master: str | None = option(
    None, "Unused: TensorFlow 2 has no sessions to connect."
  )
  dry_run: bool = option(
    False,
    "Whether only to report the steps, and the memory that one step takes "
    "here. Nothing is trained or written.",
  )
  # They follow from the others.
  execution: ExecutionOptions = dataclasses.field(init=False)
  smaller_is_better: bool = dataclasses.field(init=False)

  def __post_init__(self):
    object.__setattr__(self, "execution", ExecutionOptions.of(self))
    is_loss = (self.best_metric or "").endswith("loss")
    object.__setattr__(self, "smaller_is_better", is_loss)
    super().__post_init__()
    check_strategy(self, self)

  def check_model(self):
    """Raises ValueError unless the model to start from is named."""
    if not (self.preset or self.bert_config_file):
      raise ValueError(
        "A model to start from is needed: `preset`, or bert_config_file with "
        "vocab_file and init_checkpoint."
      )

  def path(self, name):
    """Returns the path of a file in output_dir."""
    return os.path.join(self.output_dir, name)

  def selection(self):
    """Returns the `SelectionOptions`; None if nothing is scored in training."""
    return SelectionOptions.of(self) if self.eval_steps else None

  def log_unused(self, **unused):
    """Logs the given options that have no effect.

    Args:
      **unused: more names of such options, each with where it has none.
    """
    unused["master"] = "here"
    if not self.is_tpu:
      names = ("tpu_name", "tpu_zone", "gcp_project", "num_tpu_cores")
      unused |= dict.fromkeys(names, "without use_tpu")
    for field in option_fields(self):
      if field.name in unused and self.is_given(field.name):
        name, where = flag_name(field), unused[field.name]
        log_line(f"{name} has no effect {where}. {field.metadata['help']}")


# What a training writes into output_dir, for the field of that name.
TRAINING_FILES = (
  *("run.lock", "run.flags", "training_options.json", "evaluations.json"),
  *("checkpoint", r"model\.ckpt-\d+(\..+)?", "model/"),
)
