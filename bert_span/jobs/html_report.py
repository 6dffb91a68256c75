"""What report does: shows what a model gets right and wrong, as HTML."""

import numpy as np

from bert_span.answers.files.prediction_reader import (
  read_n_best,
  read_predictions,
)
from bert_span.answers.scoring.official_scores import official_scores
from bert_span.extractor import SpanExtractor
from bert_span.reporting import calibration_plots
from bert_span.reporting.calibration_section import confidence_of
from bert_span.reporting.question_results import first_texts, question_results
from bert_span.reporting.report_page import Report, report_page
from bert_span.reporting.token_probabilities import window_probabilities
from bert_span.squad.lint.token_lengths import measure_tokens
from bert_span.squad.lint.window_costs import place_windows
from bert_span.squad.reader import read_squad
from bert_span.storage.atomic_file import write_text_atomically


def write_report(
  predict_file,
  nbest_file,
  output_file,
  predictions_file=None,
  model=None,
  window_options=None,
  question_id=None,
  num_errors=50,
):
  """Writes the page and prints its name and size.

  Args:
    predict_file: SQuAD file with the questions and their answers.
    nbest_file: n-best lists of a span head, as run_squad writes them.
    output_file: HTML file to write.
    predictions_file: predicted text by question id; None takes the first
      answer of each n-best list.
    model: model directory, or name of one, that made the predictions; None
      leaves out the windows.
    window_options: `WindowOptions`; None for the model's.
    question_id: question whose tokens are shown, by `model`; or None.
    num_errors: errors to show at most.

  Raises:
    OSError: a file cannot be read.
    ValueError: a file is malformed, the files do not fit together, or there is
      no such question.
  """
  squad_file = read_squad(predict_file)
  n_best = read_n_best(nbest_file)
  if predictions_file:
    predictions = read_predictions(predictions_file)
  else:
    predictions = first_texts(n_best)
  sources = {
    "Questions": predict_file,
    "n-best lists": nbest_file,
    "Predictions": predictions_file,
    "Model": model,
  }
  sources = {name: path for name, path in sources.items() if path}
  try:
    scores = official_scores(squad_file, predictions)
    results = question_results(squad_file, n_best, predictions)
    chosen = _chosen(results, question_id)
  except ValueError as error:
    raise ValueError(f"{', '.join(sources.values())}: {error}") from error
  readings = {}
  if model:
    extractor = SpanExtractor.from_preset(model, window_options)
    readings = _readings_of_model(extractor, squad_file.examples, chosen)
  confidence = confidence_of(results)
  report = Report(
    sources=sources,
    version_2=squad_file.version_2,
    results=results,
    scores=scores,
    num_errors=num_errors,
    confidence=confidence,
    plots=_plots(confidence) if confidence else (b"", b""),
    chosen=chosen,
    notes=squad_file.report.lines(),
    **readings,
  )
  text, num_shown = report_page(report)
  write_text_atomically(output_file, text)
  size = len(text.encode("utf-8")) / 1e6
  print(f"{output_file}: {num_shown} errors shown, {size:.2f} MB")


def _chosen(results, question_id):
  """The result of a question, or None."""
  if question_id is None:
    return None
  for result in results:
    if result.example.qas_id == question_id:
      return result
  raise ValueError(
    f"--question_id={question_id} is none of the {len(results):,} "
    "questions. Give the id of one of them."
  )


def _plots(confidence):
  return (
    calibration_plots.reliability_png({"model": confidence.bins}),
    calibration_plots.risk_coverage_png({"model": confidence.curve}),
  )


def _readings_of_model(extractor, examples, chosen):
  """num_windows and windows of the `Report`."""
  if chosen is not None and not extractor.head.scores_ends:
    raise ValueError(
      f"--question_id: the model has a {extractor.head.name} head, which has "
      "no start and end probabilities. Leave the flag out."
    )
  readings = {"num_windows": _num_windows(examples, extractor)}
  if chosen is not None:
    (logits,) = extractor.window_logits([chosen.example])
    readings["windows"] = window_probabilities(logits)
  return readings


def _num_windows(examples, extractor):
  """How many windows the model reads of each question's passage."""
  lengths = measure_tokens(
    examples, extractor.preprocessor.tokenizer, lambda *tokens: None
  )
  places = place_windows(
    lengths.question, lengths.context, extractor.window_options
  )
  return np.bincount(places.example_index, minlength=len(examples))
