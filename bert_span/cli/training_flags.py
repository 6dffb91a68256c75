"""Flags of the programs that train, and the checks of their relations."""

import sys

from absl import flags

from bert_span.cli.option_flags import define_flags, read_flags
from bert_span.cli.program import forbid
from bert_span.presets.encoder_source import EncoderSource
from bert_span.training import options

flags.disclaim_key_flags()


def define_encoder_flags():
  """Defines the flags of `EncoderSource`, --do_lower_case with a default."""
  return define_flags(EncoderSource, do_lower_case=True)


def define_data_flags():
  """Defines --train_file, --dataset and --data_dir."""
  return (
    flags.DEFINE_string(
      "train_file", None, "SQuAD file (JSON, Parquet) to train on."
    ),
    flags.DEFINE_enum(
      "dataset",
      None,
      ["squad/v1.1", "squad/v2.0"],
      "TensorFlow Datasets name, instead of files of questions.",
    ),
    flags.DEFINE_string(
      "data_dir", None, "Folder of TensorFlow Datasets, for --dataset."
    ),
  )


def define_run_flags():
  """Defines the flags of all trainings; returns --dry_run."""
  define_flags(options.ExecutionOptions)
  define_flags(options.SelectionOptions)
  # As in run_squad.
  define_flags(options.StrategyOptions, num_tpu_cores=8)
  flags.DEFINE_string(
    "master", None, "Unused: TensorFlow 2 has no sessions to connect."
  )
  return flags.DEFINE_bool(
    "dry_run",
    False,
    "Whether only to report the steps, and the memory that one step takes "
    "here. Nothing is trained or written.",
  )


def check_encoder_flags(needs_model):
  """Checks that the flags name one model, or none unless `needs_model`."""
  values = read_flags(EncoderSource)
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
  return _read_only_given(EncoderSource, "do_lower_case")


def dataset_split(split):
  """Returns (name, split, folder) of --dataset; None without it."""
  name = flags.FLAGS.dataset
  return (name, split, flags.FLAGS.data_dir) if name else None


def run_arguments():
  """Returns arguments of `RunOptions`."""
  return {
    "source": encoder_source(),
    "devices": device_options(),
    "run_flags": _run_flags(),
  }


def _run_flags():
  """The given flags, one a line, and the defaults of the others as comments.

  What was not given may follow from the model: --do_lower_case, for one.
  """
  lines = {True: [], False: []}
  for module, defined in flags.FLAGS.flags_by_module_dict().items():
    # Not those of TensorFlow and absl.
    if module == sys.argv[0] or module.startswith("bert_span."):
      for flag in defined:
        if flag.value is not None:
          lines[bool(flag.present)].append(flag.serialize())
  given, defaults = (sorted(set(lines[key])) for key in (True, False))
  return "".join(f"{x}\n" for x in [*given, *(f"# {x}" for x in defaults)])


def execution_options():
  """Returns the `ExecutionOptions` of the flags."""
  return read_flags(options.ExecutionOptions)


def device_options():
  """Returns the `StrategyOptions` of the flags."""
  # Any number of cores will do unless run_squad's default is given.
  return _read_only_given(options.StrategyOptions, "num_tpu_cores")


def selection_options(best_metric):
  """Returns the `SelectionOptions` of the flags; None without --eval_steps."""
  if flags.FLAGS.eval_steps is None:
    return None
  return read_flags(
    options.SelectionOptions,
    best_metric=best_metric,
    smaller_is_better=bool(best_metric) and best_metric.endswith("loss"),
  )


def check_run_flags(does_train, train_batch_size, best_metric, needs):
  """Checks relations; `needs` are what --eval_steps still needs, or None."""
  execution = execution_options()
  options.check_strategy(device_options(), execution)
  if execution.accumulate_steps > train_batch_size:
    raise ValueError(
      f"--accumulate_steps={execution.accumulate_steps} must be at most "
      f"--train_batch_size={train_batch_size}."
    )
  evaluates = flags.FLAGS.eval_steps
  if not (evaluates and best_metric):
    needed = "needs --eval_steps and --best_metric"
    forbid([flags.FLAGS["early_stopping_patience"]], needed)
  needs = needs if does_train else "--do_train"
  if evaluates and needs:
    raise ValueError(f"--eval_steps needs {needs}.")


def report_unused_flags(unused=None):
  """Prints each given flag that has no effect here to standard error.

  `unused` has more of them, each with when it has none.
  """
  unused = {"master": "here", **(unused or {})}
  if not device_options().is_tpu:
    names = ("tpu_name", "tpu_zone", "gcp_project", "num_tpu_cores")
    unused |= dict.fromkeys(names, "without --use_tpu")
  for name, where in unused.items():
    flag = flags.FLAGS[name]
    if flag.present:
      print(f"--{name} has no effect {where}. {flag.help}", file=sys.stderr)


def _read_only_given(options_type, name):
  """Returns the options of flags; one of them is None unless it is given."""
  missing = {} if flags.FLAGS[name].present else {name: None}
  return read_flags(options_type, **missing)
