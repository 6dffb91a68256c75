"""What report does: writes an HTML page on a model's answers and errors."""

import typing

import numpy as np

from bert_span.answers.prediction_files import read_n_best, read_predictions
from bert_span.data.window_batches import window_batches
from bert_span.extractors.extractor import Extractor
from bert_span.reporting import report_page
from bert_span.reporting.question_results import question_results
from bert_span.scoring.squad_scores import official_scores
from bert_span.squad.reader import read_squad
from bert_span.storage.atomic_file import write_text_atomically
from bert_span.text.options import WindowOptions

if typing.TYPE_CHECKING:
  from bert_span.report import ReportOptions


def report(options: "ReportOptions"):
  """Writes the page, and prints its name and size."""
  model, question_id = options.model, options.question_id
  predict_file = options.predict_file
  squad_file, n_best = read_squad(predict_file), read_n_best(options.nbest_file)
  sources = {"Questions": predict_file, "n-best lists": options.nbest_file}
  predictions = {qas_id: entries[0].text for qas_id, entries in n_best.items()}
  if options.predictions_file:
    sources["Predictions"] = options.predictions_file
    predictions = read_predictions(options.predictions_file)
  if model:
    sources["Model"] = model
  try:
    scores = official_scores(squad_file, predictions)
    results = question_results(squad_file, n_best, predictions)
  except ValueError as error:
    raise ValueError(f"{', '.join(sources.values())}: {error}") from error
  chosen = next((r for r in results if r.example.qas_id == question_id), None)
  if question_id is not None and chosen is None:
    raise ValueError(
      f"question_id={question_id} is not in {predict_file}. Give one that is."
    )
  num_windows, windows = None, ()
  if model:
    extractor = Extractor.from_preset(
      model, verify=options.verify, **options.given(WindowOptions)
    )
    if chosen and not {"start_logits", "end_logits"} <= {*extractor.logits}:
      raise ValueError(
        f"question_id={question_id}: a {extractor.head_name} head has no start "
        "and end probabilities. Leave it out."
      )
    batches = window_batches(squad_file.examples, extractor.preprocessor)
    num_windows = [
      int(number)
      for batch, windows in batches
      for number in np.bincount(windows["example_index"], minlength=len(batch))
    ]
    if chosen:
      (logits,) = extractor.window_logits([chosen.example])
      windows = report_page.window_probabilities(logits)
  results_shown = report_page.Report(
    sources=sources,
    version_2=squad_file.version_2,
    results=results,
    scores=scores,
    notes=squad_file.report.lines(),
    num_windows=num_windows,
    chosen=chosen,
    windows=windows,
  )
  text, num_shown = report_page.report_page(results_shown, options.num_errors)
  write_text_atomically(options.output_file, text)
  size = len(text.encode("utf-8")) / 1e6
  print(f"{options.output_file}: {num_shown} errors shown, {size:.2f} MB")
