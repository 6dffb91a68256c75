"""Options of the jobs that have many; TensorFlow is not needed."""

import dataclasses

from bert_span.options.fields import option


@dataclasses.dataclass(frozen=True)
class CalibrationOptions:
  model: str | None = option(
    None,
    "Model directory that run_squad or save_to_preset wrote, with a span head.",
  )
  evaluate_file: str | None = option(
    None, "SQuAD JSON file with other questions, on which the fit is evaluated."
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
    "Format of --input; by default the ending of each file decides: .jsonl, "
    ".json (SQuAD), .tfrecord, .parquet.",
    choices=("jsonl", "squad", "tfrecord", "parquet"),
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
