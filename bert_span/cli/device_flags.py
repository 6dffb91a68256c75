"""Flags of what a training runs on, and how: devices, precision, memory.

As in model_flags.py, a group is defined when a program asks for it.
"""

import functools
import os
import sys
import types

from absl import flags

from bert_span.cli import program
from bert_span.training import execution
from bert_span.training.devices import strategy_options
from bert_span.training.devices.cluster import read_cluster


@functools.cache
def execution_flags():
  """--precision, --accumulate_steps, --recompute, --jit_compile, .."""
  return types.SimpleNamespace(
    precision=flags.DEFINE_enum(
      "precision",
      "float32",
      execution.PRECISIONS,
      "Precision of the encoder's matrix products in training; weights, heads, "
      "softmax and loss stay float32.",
    ),
    accumulate_steps=flags.DEFINE_integer(
      "accumulate_steps",
      1,
      "Parts in which a device computes its share of a batch, one after "
      "another, for one update: large batches in little memory.",
      lower_bound=1,
    ),
    recompute=flags.DEFINE_bool(
      "recompute",
      False,
      "Whether the backward pass computes every layer a second time instead of "
      "keeping what it computed: less memory, more work.",
    ),
    jit_compile=flags.DEFINE_enum(
      "jit_compile",
      "auto",
      execution.JIT_COMPILE,
      "Whether XLA compiles loss and gradients; auto is on for GPUs with "
      "batches of one length.",
    ),
    all_reduce=flags.DEFINE_enum(
      "all_reduce",
      "auto",
      execution.ALL_REDUCE,
      "How several GPUs or workers sum their gradients.",
    ),
  )


def execution_options():
  """The ExecutionOptions that the flags ask for."""
  values = vars(execution_flags())
  return execution.ExecutionOptions(
    **{name: holder.value for name, holder in values.items()}
  )


@functools.cache
def device_flags():
  """--distribution, --num_devices, --use_tpu and the original's TPU flags."""
  return types.SimpleNamespace(
    distribution=flags.DEFINE_enum(
      "distribution",
      "auto",
      strategy_options.DISTRIBUTIONS,
      "Devices to train on; auto is a TPU if --use_tpu, the workers if "
      "TF_CONFIG names several, all GPUs if there are several, else one "
      "device.",
    ),
    num_devices=flags.DEFINE_integer(
      "num_devices",
      None,
      "Devices of this machine to train on; none is all its GPUs. Without GPUs "
      "the CPU is divided into so many.",
      lower_bound=1,
    ),
    use_tpu=flags.DEFINE_bool(
      "use_tpu", False, "Whether to train on a TPU, as --distribution=tpu."
    ),
    tpu_name=flags.DEFINE_string(
      "tpu_name",
      None,
      "Name of the Cloud TPU; none is that of this machine, a TPU VM.",
    ),
    tpu_zone=flags.DEFINE_string(
      "tpu_zone", None, "Zone of the Cloud TPU; none is that of this machine."
    ),
    gcp_project=flags.DEFINE_string(
      "gcp_project",
      None,
      "Project of the Cloud TPU; none is that of this machine.",
    ),
    master=flags.DEFINE_string(
      "master", None, "Unused: TensorFlow 2 has no sessions to connect."
    ),
    num_tpu_cores=flags.DEFINE_integer(
      "num_tpu_cores",
      8,
      "Cores that the TPU must have, where the flag is given.",
      lower_bound=1,
    ),
  )


def device_options():
  """The StrategyOptions that the flags ask for."""
  values = device_flags()
  cores = values.num_tpu_cores
  return strategy_options.StrategyOptions(
    distribution=values.distribution.value,
    num_devices=values.num_devices.value,
    use_tpu=values.use_tpu.value,
    tpu_name=values.tpu_name.value,
    tpu_zone=values.tpu_zone.value,
    gcp_project=values.gcp_project.value,
    num_tpu_cores=cores.value if cores.present else None,
  )


def check_device_flags(train_batch_size):
  """Refuses devices and execution flags that do not fit together.

  Args:
    train_batch_size: windows or sequences in a batch.
  """
  strategy_options.check_strategy(
    device_options(), execution_options(), read_cluster(os.environ)
  )
  parts = execution_flags().accumulate_steps.value
  program.check(
    parts <= train_batch_size,
    f"--accumulate_steps={parts} cuts a batch of {train_batch_size} into parts "
    "of less than one window. Lower it.",
  )


def report_unused_flags():
  """Says of each flag given that it means nothing here, on standard error."""
  unused = ["master"]
  if not device_options().is_tpu:
    unused += ["tpu_name", "tpu_zone", "gcp_project", "num_tpu_cores"]
  for name in unused:
    if vars(device_flags())[name].present:
      why = "here" if name == "master" else "without --use_tpu"
      effect = f"--{name} has no effect {why}."
      print(f"{effect} {flags.FLAGS[name].help}", file=sys.stderr)


@functools.cache
def dry_run_flags():
  """--dry_run, --memory_gb."""
  return types.SimpleNamespace(
    dry_run=flags.DEFINE_bool(
      "dry_run",
      False,
      "Whether to say only what would run: steps, windows, lengths, parameters "
      "and an estimate of memory. Nothing is trained or written.",
    ),
    memory_gb=flags.DEFINE_float(
      "memory_gb",
      None,
      "Memory of a device in GB (10^9 bytes), for --dry_run; none is that of "
      "this machine's GPU, else of the machine.",
      lower_bound=0.0,
    ),
  )


def check_dry_run_flags():
  """Refuses --memory_gb where nothing reads it."""
  values = dry_run_flags()
  program.check(
    values.dry_run.value or not values.memory_gb.present,
    "--memory_gb is for --dry_run. Leave it out.",
  )
