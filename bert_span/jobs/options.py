"""Options of the jobs that have many; TensorFlow is not needed."""

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


@dataclasses.dataclass(frozen=True)
class CalibrationOptions:
  model: str | None = option(
    None,
    "Model directory that run_squad or save_to_preset wrote, with a span head.",
  )
  evaluate_file: str | None = option(
    None, "SQuAD file with other questions, on which the fit is evaluated."
  )
  version_2_with_negative: bool | None = option(
    None, "Whether questions may be unanswerable; by default as in the model."
  )
  target_precision: float | None = option(
    None,
    "Share of the given answers that must be exact matches, from 0 to 1; by "
    "default the null threshold is the one with the best F1.",
    minimum=0.0,
    maximum=1.0,
  )
  target_answered: float | None = option(
    None,
    "Share of the answerable questions that must get an answer, from 0 to 1; "
    "instead of --target_precision.",
    minimum=0.0,
    maximum=1.0,
  )
  output_dir: str | None = option(
    None,
    "Folder for calibration.json and the plots; by default the folder "
    "calibration in the model directory.",
  )
  plots: bool = option(
    True,
    "Whether to draw reliability.png and risk_coverage.png; needs matplotlib.",
  )


@dataclasses.dataclass(frozen=True)
class ReportOptions:
  nbest_file: str | None = option(
    None, "File nbest_predictions.json of a span head."
  )
  predictions_file: str | None = option(
    None,
    "File predictions.json of the same run, whose threshold decided on no "
    "answer; by default the first answer of each n-best list is taken.",
  )
  model: str | None = option(
    None,
    "Model directory, or minilm_squad, that made the predictions; its windows "
    "are counted and --question_id is read by it.",
  )
  question_id: str | None = option(
    None,
    "Id of a question whose tokens are shown with their start and end "
    "probabilities; needs --model.",
  )
  num_errors: int = option(
    50,
    "Number of errors to show, the worst; fewer if the page exceeds 5 MB.",
    minimum=0,
  )
  output_file: str = option("report.html", "HTML file to write.")


@dataclasses.dataclass(frozen=True)
class LintOptions:
  as_json: bool = option(
    False, "Whether to print one JSON object instead of text.", flag="json"
  )
  fix: bool = option(
    False, "Whether to write a repaired copy and a log of each change."
  )
  output_file: str | None = option(
    None,
    "File of the repaired copy; by default FILE with the ending .fixed.json. "
    "The log is beside it, with the ending .changes.jsonl.",
  )
  strict: bool = option(False, "Whether warnings also give the exit status 1.")
  num_places: int = option(
    3,
    "Number of places that the text names for each kind of warning; it names "
    "all places of errors and none of notes.",
    minimum=0,
  )


@dataclasses.dataclass(frozen=True)
class AnswerFilesOptions:
  patterns: str | None = option(
    None,
    "Files of questions, as paths and globs separated by commas.",
    flag="input",
  )
  input_format: str | None = option(
    None,
    "Format of --input, jsonl or parquet; by default the ending of each file "
    "decides: .jsonl, .ndjson, .parquet.",
  )
  output_format: str = option(
    "jsonl", "Format of the answers.", choices=("jsonl", "parquet")
  )
  num_shards: int = option(
    16,
    "Number of answer files. A worker answers one shard at a time and holds "
    "its passages in memory; a restart begins with a shard.",
    minimum=1,
    maximum=99_999,
  )
  n_best: int = option(
    1,
    "Number of entries of each question's n-best list; 1 leaves the list out.",
    minimum=1,
  )
  strict: bool = option(
    False,
    "Whether to end with status 1 if a single record is in the dead letters, "
    "and not only if no question was answered.",
  )
