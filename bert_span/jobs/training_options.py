"""The steps of run_squad and run_pretraining; TensorFlow is not needed."""

import dataclasses
import os

from bert_span.options.fields import CheckedOptions, option
from bert_span.presets.encoder_source import EncoderSource
from bert_span.training.options import SelectionOptions, StrategyOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
  """What both trainings are given."""

  # Of all that is written; run_pretraining takes any path of tf.io.gfile.
  output_dir: str
  source: EncoderSource  # of the model to start from
  selection: SelectionOptions | None = None  # of evaluation during training
  devices: StrategyOptions = dataclasses.field(default_factory=StrategyOptions)
  run_flags: str = ""  # text that repeats the run as --flagfile

  def path(self, name):
    """The path of a file in output_dir."""
    return os.path.join(self.output_dir, name)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadRunOptions(CheckedOptions):
  """What run_squad does, apart from how it trains and decodes."""

  do_train: bool = option(False, "Whether to train.")
  do_predict: bool = option(
    False, "Whether to answer the questions of --predict_file."
  )
  do_eval: bool = option(
    False,
    "Whether to score --output_dir/predictions.json by the official metrics.",
  )
  train_records: str | None = option(
    None,
    "Folder of bert_span.create_squad_records to train on; with --train_file "
    "the records must be made from that file.",
  )
  teachers: tuple[str, ...] = option(
    (),
    "Model directories, or names of models, separated by commas, whose outputs "
    "are learned in addition to the labels (distillation), averaged. "
    "They need the same vocabulary, case, windows and head. Questions without "
    "an answer or is_impossible are used too.",
    flag="teacher",
  )
  head_bias: bool = option(
    True,
    "Whether logits have a bias, as in run_squad; the paper has none.",
    flag="span_head_bias",
  )
  verbose: bool = option(
    False,
    "Whether to name every place of a data problem instead of the first three.",
    flag="verbose_logging",
  )
  disagreement_questions: int = option(
    20,
    "With --head=bio: number of questions in disagreement.json, those on which "
    "the annotators differ most.",
    minimum=0,
  )
  write_logits: bool = option(
    False, "Whether to write --output_dir/logits.npz, for bert_span.decode."
  )
  num_seeds: int = option(
    1,
    "Number of trainings, with the seeds --seed, --seed + 1, ..., each in its "
    "own folder; mean and standard deviation of their scores are printed.",
    minimum=1,
    maximum=10_000,
  )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PretrainingRunOptions(CheckedOptions):
  """What run_pretraining does, apart from how it masks and trains."""

  do_train: bool = option(False, "Whether to train.")
  do_eval: bool = option(False, "Whether to score the model on held-out text.")
  do_export: bool = option(
    True,
    "Whether to write a trained model also as a TensorFlow 1 checkpoint and as "
    "a Hugging Face directory.",
  )
  eval_batch_size: int = option(
    8, "Sequences that are scored at once.", minimum=1
  )
  max_eval_steps: int = option(100, "Most batches of held-out text.", minimum=1)
