"""Flags of the programs that train, and the checks of their relations."""

import functools
import sys
import types

from absl import flags

from bert_span.cli.option_flags import OptionFlags
from bert_span.cli.program import check
from bert_span.fine_tuning.options import FineTuningOptions
from bert_span.presets.encoder_source import EncoderSource
from bert_span.training.devices.strategy_options import (
  StrategyOptions,
  check_strategy,
)
from bert_span.training.options import ExecutionOptions, SelectionOptions

flags.disclaim_key_flags()


@functools.cache
def encoder_flags():
  """Returns the flags of `EncoderSource`, --do_lower_case with a default."""
  return OptionFlags(EncoderSource, do_lower_case=True)


def check_encoder_flags(needs_model):
  """Checks that the flags name one model, or none unless `needs_model`."""
  values = encoder_flags()
  is_original = values.bert_config_file.value or values.init_checkpoint.value
  check(
    not (values.preset.value and is_original),
    "--preset replaces --bert_config_file and --init_checkpoint: give either.",
  )
  check(
    values.bert_config_file.value or not values.init_checkpoint.value,
    "--init_checkpoint needs the --bert_config_file it was made with.",
  )
  check(
    values.vocab_file.value or not is_original,
    "--bert_config_file needs the --vocab_file of the checkpoint.",
  )
  check(
    values.preset.value or is_original or not needs_model,
    "A model to start from is needed: --preset, or --bert_config_file with "
    "--vocab_file and --init_checkpoint.",
  )


def encoder_source():
  """Returns the `EncoderSource` of the flags."""
  values = encoder_flags()
  # The model decides unless the flag is given.
  missing = {} if values.do_lower_case.present else {"do_lower_case": None}
  return values.options(**missing)


@functools.cache
def train_data_flags():
  """Returns --train_file, --dataset, --data_dir."""
  return types.SimpleNamespace(
    train_file=flags.DEFINE_string(
      "train_file", None, "SQuAD JSON file to train on."
    ),
    dataset=flags.DEFINE_enum(
      "dataset",
      None,
      ["squad/v1.1", "squad/v2.0"],
      "TensorFlow Datasets name, instead of files of questions.",
    ),
    data_dir=flags.DEFINE_string(
      "data_dir", None, "Folder of TensorFlow Datasets, for --dataset."
    ),
  )


def dataset_split(split):
  """Returns (name, split, folder) of --dataset; None without it."""
  values = train_data_flags()
  if not values.dataset.value:
    return None
  return values.dataset.value, split, values.data_dir.value


@functools.cache
def fine_tuning_flags(*names):
  """Returns the flags of `FineTuningOptions`, or those of some options."""
  return OptionFlags(FineTuningOptions, names or None)


@functools.cache
def execution_flags():
  """Returns the flags of `ExecutionOptions`."""
  return OptionFlags(ExecutionOptions)


def execution_options():
  """Returns the `ExecutionOptions` of the flags."""
  return execution_flags().options()


@functools.cache
def run_flags():
  """Returns the flags on devices, precision, evaluation and the dry run."""
  return types.SimpleNamespace(
    execution=execution_flags(),
    devices=OptionFlags(StrategyOptions, num_tpu_cores=8),
    master=flags.DEFINE_string(
      "master", None, "Unused: TensorFlow 2 has no sessions to connect."
    ),
    selection=OptionFlags(SelectionOptions),
    dry_run=flags.DEFINE_bool(
      "dry_run",
      False,
      "Whether only to report what would run: steps, windows, lengths, "
      "parameters, and the memory that one step takes here. Nothing is trained "
      "or written.",
    ),
    memory_gb=flags.DEFINE_float(
      "memory_gb",
      None,
      "Memory of a device in GB (10^9 bytes), for --dry_run; by default that "
      "of this machine's GPU, or else of the machine.",
      lower_bound=0.0,
    ),
  )


def device_options():
  """Returns the `StrategyOptions` of the flags."""
  devices = run_flags().devices
  # Any number of cores will do unless run_squad's default is given.
  missing = {} if devices.num_tpu_cores.present else {"num_tpu_cores": None}
  return devices.options(**missing)


def selection_options(best_metric):
  """Returns the `SelectionOptions` of the flags; None without --eval_steps.

  Args:
    best_metric: name of a metric, or None; smaller values of a metric whose
      name ends in "loss" are better.
  """
  selection = run_flags().selection
  if selection.eval_steps.value is None:
    return None
  return selection.options(
    best_metric=best_metric,
    smaller_is_better=bool(best_metric) and best_metric.endswith("loss"),
  )


def check_run_flags(does_train, train_batch_size, best_metric):
  """Checks the relations of `run_flags` with each other and with these."""
  values = run_flags()
  check_strategy(device_options(), execution_options())
  parts = values.execution.accumulate_steps.value
  check(
    parts <= train_batch_size,
    f"--accumulate_steps={parts} divides a batch of {train_batch_size} into "
    "micro-batches of less than one window. Lower it.",
  )
  check(
    values.dry_run.value or not values.memory_gb.present,
    "--memory_gb is for --dry_run. Leave it out.",
  )
  eval_steps = values.selection.eval_steps.value
  check(
    values.selection.early_stopping_patience.value is None
    or (eval_steps and best_metric),
    "--early_stopping_patience needs --eval_steps and --best_metric.",
  )
  check(does_train or not eval_steps, "--eval_steps needs --do_train.")


def report_unused_flags():
  """Prints each given flag that has no effect here to standard error."""
  values = run_flags()
  unused = [(values.master, "here")]
  if not device_options().is_tpu:
    names = ("tpu_name", "tpu_zone", "gcp_project", "num_tpu_cores")
    unused += [
      (getattr(values.devices, name), "without --use_tpu") for name in names
    ]
  for holder, where in unused:
    if holder.present:
      print(
        f"--{holder.name} has no effect {where}. "
        f"{flags.FLAGS[holder.name].help}",
        file=sys.stderr,
      )
