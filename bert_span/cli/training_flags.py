"""Flags of the programs that train, and the checks of their relations."""

import sys

from absl import flags

from bert_span.cli.option_flags import OptionFlags
from bert_span.cli.program import forbid
from bert_span.options.fields import option
from bert_span.presets.encoder_source import EncoderSource
from bert_span.training import options

flags.disclaim_key_flags()


class _DataOptions:
  train_file: str | None = option(None, "SQuAD JSON file to train on.")
  dataset: str | None = option(
    None,
    "TensorFlow Datasets name, instead of files of questions.",
    choices=("squad/v1.1", "squad/v2.0"),
  )
  data_dir: str | None = option(
    None, "Folder of TensorFlow Datasets, for --dataset."
  )


class _RunOptions:
  master: str | None = option(
    None, "Unused: TensorFlow 2 has no sessions to connect."
  )
  dry_run: bool = option(
    False,
    "Whether only to report steps, windows, lengths, parameters, and the "
    "memory that one step takes here. Nothing is trained or written.",
  )
  memory_gb: float | None = option(
    None,
    "Memory of a device in GB (10^9 bytes), for --dry_run; by default that of "
    "this machine's GPU, or else of the machine.",
    minimum=0.0,
  )


def encoder_flags():
  """Returns the flags of `EncoderSource`, --do_lower_case with a default."""
  return OptionFlags(EncoderSource, do_lower_case=True)


def check_encoder_flags(needs_model):
  """Checks that the flags name one model, or none unless `needs_model`."""
  values = encoder_flags().options()
  is_original = values.bert_config_file or values.init_checkpoint
  if values.preset and is_original:
    raise ValueError(
      "--preset replaces --bert_config_file and --init_checkpoint: give either."
    )
  if values.init_checkpoint and not values.bert_config_file:
    raise ValueError("--init_checkpoint needs its --bert_config_file.")
  if is_original and not values.vocab_file:
    raise ValueError("--bert_config_file needs its --vocab_file.")
  if needs_model and not (values.preset or is_original):
    raise ValueError(
      "A model to start from is needed: --preset, or --bert_config_file with "
      "--vocab_file and --init_checkpoint."
    )


def encoder_source():
  """Returns the `EncoderSource` of the flags."""
  return _only_given(encoder_flags(), "do_lower_case")


def data_flags():
  """Returns --train_file, --dataset, --data_dir."""
  return OptionFlags(_DataOptions)


def dataset_split(split):
  """Returns (name, split, folder) of --dataset; None without it."""
  values = data_flags()
  name = values.dataset.value
  return (name, split, values.data_dir.value) if name else None


def run_flags():
  """Returns the flags of `_RunOptions`; defines those of all trainings."""
  OptionFlags(options.ExecutionOptions)
  OptionFlags(options.SelectionOptions)
  _device_flags()
  return OptionFlags(_RunOptions)


def run_arguments():
  """Returns arguments of `RunOptions`."""
  return {
    "source": encoder_source(),
    "devices": device_options(),
    "run_flags": flags.FLAGS.flags_into_string(),
  }


def execution_options():
  """Returns the `ExecutionOptions` of the flags."""
  return OptionFlags(options.ExecutionOptions).options()


def device_options():
  """Returns the `StrategyOptions` of the flags."""
  # Any number of cores will do unless run_squad's default is given.
  return _only_given(_device_flags(), "num_tpu_cores")


def selection_options(best_metric):
  """Returns the `SelectionOptions` of the flags; None without --eval_steps."""
  selection = OptionFlags(options.SelectionOptions)
  if selection.eval_steps.value is None:
    return None
  return selection.options(
    best_metric=best_metric,
    smaller_is_better=bool(best_metric) and best_metric.endswith("loss"),
  )


def check_run_flags(does_train, train_batch_size, best_metric, needs):
  """Checks relations; `needs` are what --eval_steps still needs, or None."""
  values, selection = run_flags(), OptionFlags(options.SelectionOptions)
  execution = execution_options()
  options.check_strategy(device_options(), execution)
  if execution.accumulate_steps > train_batch_size:
    raise ValueError(
      f"--accumulate_steps={execution.accumulate_steps} must be at most "
      f"--train_batch_size={train_batch_size}."
    )
  if not values.dry_run.value:
    forbid([values.memory_gb], "is for --dry_run")
  evaluates = selection.eval_steps.value
  if not (evaluates and best_metric):
    needed = "needs --eval_steps and --best_metric"
    forbid([selection.early_stopping_patience], needed)
  needs = needs if does_train else "--do_train"
  if evaluates and needs:
    raise ValueError(f"--eval_steps needs {needs}.")


def report_unused_flags():
  """Prints each given flag that has no effect here to standard error."""
  unused = {"master": "here"}
  if not device_options().is_tpu:
    names = ("tpu_name", "tpu_zone", "gcp_project", "num_tpu_cores")
    unused |= dict.fromkeys(names, "without --use_tpu")
  for name, where in unused.items():
    flag = flags.FLAGS[name]
    if flag.present:
      print(f"--{name} has no effect {where}. {flag.help}", file=sys.stderr)


def _device_flags():
  return OptionFlags(options.StrategyOptions, num_tpu_cores=8)


def _only_given(values, name):
  """Returns the options of flags; one of them is None unless it is given."""
  missing = {} if getattr(values, name).present else {name: None}
  return values.options(**missing)
