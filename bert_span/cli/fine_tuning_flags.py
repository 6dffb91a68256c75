"""Flags of fine-tuning, which only run_squad has.

As in model_flags.py, the group is defined when a program asks for it.
"""

import functools
import math
import types

from absl import flags

from bert_span.cli import device_flags, model_flags, program, training_flags
from bert_span.fine_tuning.options import FineTuningOptions


@functools.cache
def fine_tuning_flags():
  """--train_batch_size, --num_train_epochs, the loss, the seed, .."""
  return types.SimpleNamespace(
    train_batch_size=flags.DEFINE_integer(
      "train_batch_size", 32, "Windows in a training batch.", lower_bound=1
    ),
    num_train_epochs=flags.DEFINE_float(
      "num_train_epochs",
      3.0,
      "Passes over the training examples.",
      lower_bound=0.0,
    ),
    warmup_proportion=flags.DEFINE_float(
      "warmup_proportion",
      0.1,
      "Share of the steps in which the learning rate rises.",
      lower_bound=0.0,
      upper_bound=1.0,
    ),
    length_buckets=flags.DEFINE_string(
      "length_buckets",
      "32",
      "Batches hold windows of similar length and are padded to a multiple of "
      "this, in WordPieces; none pads to --max_seq_length, as the original.",
    ),
    span_head_bias=flags.DEFINE_bool(
      "span_head_bias",
      True,
      "Whether start and end logits have a bias, as in the original's code; "
      "the paper has none.",
    ),
    loss_reduction=flags.DEFINE_enum(
      "loss_reduction",
      "mean",
      ["mean", "sum"],
      "Whether the loss is the mean of start and end, as the original, or "
      "their sum.",
    ),
    clip_by_unsummed_embeddings=flags.DEFINE_bool(
      "clip_by_unsummed_embeddings",
      False,
      "Whether gradients are clipped by the norm that the original takes, "
      "which does not sum the word embeddings' rows of a repeated token.",
    ),
    learning_rate_after_step=flags.DEFINE_bool(
      "learning_rate_after_step",
      False,
      "Whether a step uses the learning rate of the step count after it, as "
      "the original often does by a race, and not of the count before it.",
    ),
    annotator_labels=model_flags.annotator_labels_flag(),
    bio_loss_reduction=flags.DEFINE_enum(
      "bio_loss_reduction",
      "sum",
      ["sum", "mean"],
      "With --head=bio: whether a window's loss is the sum over its passage "
      "tokens or their mean.",
    ),
    bio_class_weights=flags.DEFINE_list(
      "bio_class_weights",
      None,
      "With --head=bio: weights of B, I and O in the loss, three positive "
      "numbers separated by commas; 1 each by default.",
    ),
    teacher=flags.DEFINE_list(
      "teacher",
      [],
      "Model directories, or names of models, separated by commas, whose "
      "outputs are learned beside the labels (distillation). They need the "
      "same vocabulary, case, windows and head; of several the mean is taken. "
      "Questions without an answer that are not is_impossible take part.",
    ),
    distillation_temperature=flags.DEFINE_float(
      "distillation_temperature",
      1.0,
      "With --teacher: what the logits are divided by for its soft labels.",
    ),
    distillation_weight=flags.DEFINE_float(
      "distillation_weight",
      0.5,
      "With --teacher: share of the teachers in the loss; the rest is the "
      "labels'.",
      lower_bound=0.0,
      upper_bound=1.0,
    ),
    seed=flags.DEFINE_integer(
      "seed",
      12345,
      "Seed of initial weights, dropout and the order of batches.",
      lower_bound=0,
    ),
  )


def fine_tuning_options():
  """The `FineTuningOptions` of the flags."""
  values = fine_tuning_flags()
  data = training_flags.train_data_flags()
  return FineTuningOptions(
    train_batch_size=values.train_batch_size.value,
    **training_flags.loop_options(),
    num_train_epochs=values.num_train_epochs.value,
    warmup_proportion=values.warmup_proportion.value,
    length_bucket=_length_bucket(),
    drop_answerless_windows=data.drop_answerless_windows.value,
    loss_reduction=values.loss_reduction.value,
    clip_by_unsummed_embeddings=values.clip_by_unsummed_embeddings.value,
    learning_rate_after_step=values.learning_rate_after_step.value,
    distillation_temperature=values.distillation_temperature.value,
    distillation_weight=values.distillation_weight.value,
    seed=values.seed.value,
    annotator_labels=values.annotator_labels.value,
    bio_loss_reduction=values.bio_loss_reduction.value,
    bio_class_weights=_class_weights(),
  )


def check_fine_tuning_flags(trains):
  """Refuses flags of fine-tuning that cannot be; `trains` whether there is."""
  learning_rate = training_flags.loop_flags().learning_rate.value
  program.check(
    not trains
    or (learning_rate > 0 and fine_tuning_flags().num_train_epochs.value > 0),
    "--do_train needs --learning_rate and --num_train_epochs above 0.",
  )
  _length_bucket()
  _class_weights()


def _length_bucket():
  """--length_buckets as WordPieces, or None."""
  flag = fine_tuning_flags().length_buckets
  value = flag.value
  is_tpu = device_flags.device_options().is_tpu
  if value.lower() == "none" or (is_tpu and not flag.present):
    return None
  program.check(
    not is_tpu,
    f"--length_buckets={value}: a TPU compiles every length anew. Use "
    "--length_buckets=none, or leave it out.",
  )
  program.check(
    value.isdecimal() and int(value) > 0,
    "--length_buckets must be none or a positive number of WordPieces. "
    f"Received: {value!r}",
  )
  return int(value)


def _class_weights():
  """--bio_class_weights as three floats, or None."""
  given = fine_tuning_flags().bio_class_weights.value
  if not given:
    return None
  try:
    weights = tuple(map(float, given))
  except ValueError:
    weights = ()
  program.check(
    len(weights) == 3 and all(0 < weight < math.inf for weight in weights),
    "--bio_class_weights must be three positive numbers, of B, I and O. "
    f"Received: {','.join(given)}",
  )
  return weights
