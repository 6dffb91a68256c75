r"""Shows what a model gets right and wrong, as one HTML page.

  python -m bert_span.report --predict_file=dev.json \
    --nbest_file=nbest_predictions.json [--predictions_file=predictions.json] \
    [--model=DIR [--question_id=ID]] [--output_file=report.html]

Scores overall and by question word, answer length, answerable or not and, with
--model, number of windows; "no answer" given and due; how far probabilities can
be trusted; the worst errors in their passages; with --question_id how probable
each token is as start and end of the answer. The page loads nothing and can be
sent as it is. Standard output names the file.
"""

from absl import flags

from bert_span.cli import model_flags, program

_PREDICT_FILE = model_flags.predict_file_flag()
_NBEST_FILE = flags.DEFINE_string(
  "nbest_file",
  None,
  "n-best lists of a span head, as run_squad writes them: "
  "nbest_predictions.json.",
)
_PREDICTIONS_FILE = flags.DEFINE_string(
  "predictions_file",
  None,
  "predictions.json of the same run, whose threshold has decided on no answer; "
  "none takes the first answer of each n-best list.",
)
_MODEL = flags.DEFINE_string(
  "model",
  None,
  "Model directory, or minilm_squad, that made the predictions: its windows "
  "are counted, and --question_id is read by it.",
)
_QUESTION_ID = flags.DEFINE_string(
  "question_id",
  None,
  "Question of --predict_file whose tokens are shown with their probabilities "
  "as start and end; needs --model.",
)
_NUM_ERRORS = flags.DEFINE_integer(
  "num_errors",
  50,
  "Errors to show, the worst ones; fewer where the page would exceed 5 MB.",
  lower_bound=0,
)
_OUTPUT_FILE = flags.DEFINE_string(
  "output_file", "report.html", "HTML file that is written."
)
model_flags.window_flags()
# --help lists the flags of this module only, and those named here.
flags.adopt_module_key_flags(model_flags)


def main(argv):
  """Reads the files, scores them and writes the page."""
  program.refuse_arguments(argv)
  _check_flags()
  # Seconds: only once the flags are known to be right.
  from bert_span.reporting.report_page import report_page
  from bert_span.storage.atomic_file import write_text_atomically

  text, num_shown = report_page(_report())
  write_text_atomically(_OUTPUT_FILE.value, text)
  size = len(text.encode("utf-8")) / 1e6
  print(f"{_OUTPUT_FILE.value}: {num_shown} errors shown, {size:.2f} MB")


def run():
  """Entry point of the command bert_span_report."""
  program.run_program(main)


def _check_flags():
  check = program.check
  check(_PREDICT_FILE.value, "--predict_file is required.")
  check(_NBEST_FILE.value, "--nbest_file is required.")
  check(_OUTPUT_FILE.value, "--output_file must name a file.")
  check(
    _MODEL.value or _QUESTION_ID.value is None,
    "--question_id is read by a model: give --model, too.",
  )
  for holder in vars(model_flags.window_flags()).values():
    check(
      _MODEL.value or not holder.present,
      f"--{holder.name} is for --model, whose windows are counted. Give the "
      "model, too, or leave the flag out.",
    )
  program.check_matplotlib()


def _report():
  """The `Report` of the flags' files."""
  from bert_span.answers.files.n_best_reader import read_n_best
  from bert_span.answers.files.prediction_reader import read_predictions
  from bert_span.answers.scoring import official_scores
  from bert_span.reporting import question_results
  from bert_span.reporting.calibration_section import confidence_of
  from bert_span.reporting.report_page import Report
  from bert_span.squad.reader import read_squad

  squad_file = read_squad(_PREDICT_FILE.value)
  n_best = read_n_best(_NBEST_FILE.value)
  if _PREDICTIONS_FILE.value:
    predictions = read_predictions(_PREDICTIONS_FILE.value)
  else:
    predictions = question_results.first_texts(n_best)
  try:
    scores = official_scores.official_scores(squad_file, predictions)
    results = question_results.question_results(squad_file, n_best, predictions)
    chosen = _chosen(results)
  except ValueError as error:
    sources = ", ".join(_sources().values())
    raise ValueError(f"{sources}: {error}") from error
  confidence = confidence_of(results)
  return Report(
    sources=_sources(),
    version_2=squad_file.version_2,
    results=results,
    scores=scores,
    num_errors=_NUM_ERRORS.value,
    confidence=confidence,
    plots=_plots(confidence) if confidence else (b"", b""),
    chosen=chosen,
    notes=squad_file.report.lines(),
    **_readings_of_model(squad_file.examples, chosen),
  )


def _sources():
  """What the report is made of, by name."""
  sources = {
    "Questions": _PREDICT_FILE.value,
    "n-best lists": _NBEST_FILE.value,
    "Predictions": _PREDICTIONS_FILE.value,
    "Model": _MODEL.value,
  }
  return {name: path for name, path in sources.items() if path}


def _chosen(results):
  """The result of --question_id, or None."""
  if _QUESTION_ID.value is None:
    return None
  for result in results:
    if result.example.qas_id == _QUESTION_ID.value:
      return result
  raise ValueError(
    f"--question_id={_QUESTION_ID.value} is none of the {len(results):,} "
    "questions. Give the id of one of them."
  )


def _plots(confidence):
  from bert_span.reporting import calibration_plots

  return (
    calibration_plots.reliability_png({"model": confidence.bins}),
    calibration_plots.risk_coverage_png({"model": confidence.curve}),
  )


def _readings_of_model(examples, chosen):
  """num_windows and windows of the `Report`; {} without --model."""
  if not _MODEL.value:
    return {}
  from bert_span.extractor import SpanExtractor
  from bert_span.presets.span_config import read_span_config
  from bert_span.reporting.token_probabilities import window_probabilities

  saved = read_span_config(_MODEL.value)
  extractor = SpanExtractor.from_preset(
    _MODEL.value, model_flags.window_options(saved)
  )
  program.check(
    chosen is None or extractor.head == "span",
    f"--question_id: the model has a {extractor.head} head, which has no "
    "start and end probabilities. Leave the flag out.",
  )
  readings = {"num_windows": _num_windows(examples, extractor)}
  if chosen is not None:
    (logits,) = extractor.window_logits([chosen.example])
    readings["windows"] = window_probabilities(logits)
  return readings


def _num_windows(examples, extractor):
  """How many windows the model reads of each question's passage."""
  import numpy as np

  from bert_span.squad.lint.token_lengths import measure_tokens
  from bert_span.squad.lint.window_costs import place_windows

  lengths = measure_tokens(
    examples, extractor.preprocessor.tokenizer, lambda *tokens: None
  )
  places = place_windows(
    lengths.question, lengths.context, extractor.window_options
  )
  return np.bincount(places.example_index, minlength=len(examples))


if __name__ == "__main__":
  run()
