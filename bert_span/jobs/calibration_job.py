"""What calibrate does, with plain arguments: answers, fits, measures."""

import dataclasses
import os
import sys

import tensorflow as tf

from bert_span.answers.decoding.options import DecoderOptions
from bert_span.answers.scoring import null_threshold
from bert_span.answers.scoring.answer_confidence import (
  AnswerConfidence,
  decoded_part,
)
from bert_span.answers.scoring.temperature import fit_temperature
from bert_span.answers.window_logits import WindowDecoder
from bert_span.extractor import SpanExtractor
from bert_span.heads.known import find_head
from bert_span.heads.span import SPAN_HEAD
from bert_span.jobs.calibration_figures import (
  calibration_figures,
  correct_answers,
  figures_as_json,
)
from bert_span.presets.installed_models import find_embedded_model
from bert_span.presets.span_config import (
  CONFIG_FILE,
  read_span_config,
  update_decoder,
)
from bert_span.reporting.score_table import format_calibration
from bert_span.squad.reader import SquadFile, read_squad
from bert_span.storage import atomic_file


@dataclasses.dataclass(frozen=True)
class ScoredQuestions:
  """Questions with the logits of their windows, and their answers.

  Attributes:
    squad_file: `SquadFile` of the questions.
    batches: list of `WindowLogits`, of all questions in order.
    predictions: list of `Prediction`, by the model's options as they were.
  """

  squad_file: SquadFile
  batches: list
  predictions: list

  def decode(self, options):
    """The answers by other options, from the same logits.

    Args:
      options: `DecoderOptions`.

    Returns:
      List of `Prediction`.
    """
    decode = WindowDecoder(SPAN_HEAD, options)
    return [p for batch in self.batches for p in decode(batch)]


def calibrate(
  model,
  predict_file,
  evaluate_file=None,
  version_2=None,
  target_precision=None,
  batch_size=8,
  output_dir=None,
  plots=True,
):
  """Fits a temperature and a null threshold and writes them into a model.

  Args:
    model: model directory with a span head.
    predict_file: SQuAD file with the questions to fit to.
    evaluate_file: SQuAD file with other questions to report on, or None.
    version_2: whether questions may have no answer; None for what the model
      says.
    target_precision: see `fitted_options`.
    batch_size: windows the model reads at once.
    output_dir: folder of calibration.json and the plots; None is the folder
      calibration in the model's.
    plots: draw reliability.png and risk_coverage.png; needs matplotlib.

  Returns:
    Dict of the options that were changed in span_config.json.

  Raises:
    ValueError: the model cannot be calibrated, or not on these questions.
  """
  options = _options(model, version_2, target_precision)
  fitted_on = read_squad(predict_file)
  other = read_squad(evaluate_file) if evaluate_file else None
  extractor = SpanExtractor.from_preset(model, decoder_options=options)
  scored = score_questions(extractor, fitted_on, batch_size)
  fitted = fitted_options(scored, options, target_precision)
  figures = {"fitted": calibration_figures(scored, fitted)}
  if other:
    scored = score_questions(extractor, other, batch_size)
    figures["evaluated"] = calibration_figures(scored, fitted)
  values = {
    "temperature": fitted.temperature,
    "null_score_diff_threshold": fitted.null_score_diff_threshold,
    "version_2_with_negative": fitted.version_2_with_negative,
  }
  print(_report(values, figures))
  folder = output_dir or os.path.join(model, "calibration")
  report = {
    **values,
    "target_precision": target_precision,
    **{name: figures_as_json(part) for name, part in figures.items()},
  }
  paths = _write(folder, report, _plots(figures) if plots else {})
  # Last of all: a model is changed only when everything else has worked.
  update_decoder(model, values)
  print(f"Written: {', '.join(paths)}", file=sys.stderr)
  return values


def score_questions(extractor, squad_file, batch_size):
  """Runs the model on labelled questions.

  Args:
    extractor: a `SpanExtractor` with a span head.
    squad_file: `SquadFile`.
    batch_size: windows the model reads at once.

  Returns:
    `ScoredQuestions`.

  Raises:
    ValueError: the questions are not labelled, or the model never says "no
      answer" and some are unanswerable.
  """
  _check_labels(squad_file, extractor.decoder_options.version_2_with_negative)
  batches = []
  predictions = extractor.predict(
    squad_file.examples,
    batch_size,
    on_logits=lambda logits: batches.append(decoded_part(logits)),
  )
  predictions = list(predictions)
  return ScoredQuestions(squad_file, batches, predictions)


def fitted_options(scored, options, target_precision=None):
  """Decoding options with a temperature and a null threshold fitted.

  Without version_2_with_negative there is no threshold to fit. With it, and
  without a target, the threshold stays as it is if every question has an
  answer: any threshold that answers all of them would then be best.

  Args:
    scored: `ScoredQuestions`.
    options: `DecoderOptions` of the model.
    target_precision: the share of the given answers that is to be right; None
      fits the threshold to the best F1.

  Returns:
    `DecoderOptions`.

  Raises:
    ValueError: see `fit_temperature` and `precision_threshold`.
  """
  threshold = _threshold(scored, options, target_precision)
  options = dataclasses.replace(options, null_score_diff_threshold=threshold)
  predictions = scored.decode(options)
  confidence = AnswerConfidence(scored.batches, predictions, options)
  return dataclasses.replace(
    options,
    temperature=fit_temperature(
      confidence, correct_answers(scored.squad_file.examples, predictions)
    ),
  )


def _options(model, version_2, target_precision):
  """The `DecoderOptions` of a model that can be calibrated."""
  if find_embedded_model(model) != model:
    raise ValueError(
      f"--model={model} comes with the package and is not changed. Save a "
      f'copy, SpanExtractor.from_preset("{model}").save_to_preset(DIR), and '
      "give that."
    )
  saved = read_span_config(model)
  if saved is None:
    raise ValueError(
      f"--model={model} is no model directory of bert_span: it has no "
      f"{CONFIG_FILE}. Save it with SpanExtractor.save_to_preset first."
    )
  if not find_head(saved["head"]).scores_ends:
    raise ValueError(
      f"--model={model} has a {saved['head']} head; a temperature is for a "
      "span head."
    )
  options = DecoderOptions(**saved["decoder"])
  if version_2 is not None:
    options = dataclasses.replace(options, version_2_with_negative=version_2)
  if target_precision is not None and not options.version_2_with_negative:
    raise ValueError(
      "--target_precision needs a model that may give no answer. Give "
      "--version_2_with_negative as well."
    )
  return options


def _check_labels(squad_file, version_2):
  examples = squad_file.examples
  if not any(example.answers for example in examples):
    raise ValueError(
      f"{squad_file.path}: no question has an answer, so that there is nothing "
      "to calibrate on. Give a file with labelled questions."
    )
  unanswerable = [e.qas_id for e in examples if not e.answers]
  if unanswerable and not version_2:
    raise ValueError(
      f"{squad_file.path}: {len(unanswerable)} of {len(examples)} questions "
      f"have no answer (first: {unanswerable[0]}), and the model never says "
      "so. Give --version_2_with_negative, or remove these questions."
    )


def _threshold(scored, options, target_precision):
  """The null threshold that suits the questions best."""
  examples = scored.squad_file.examples
  best_spans = {p.qas_id: _best_span(p) for p in scored.predictions}
  null_odds = {p.qas_id: p.null_odds for p in scored.predictions}
  if target_precision is not None:
    return null_threshold.precision_threshold(
      examples, best_spans, null_odds, target_precision
    )
  if not options.version_2_with_negative or all(e.answers for e in examples):
    return options.null_score_diff_threshold
  return null_threshold.best_f1_threshold(examples, best_spans, null_odds)


def _best_span(prediction):
  return next((e.text for e in prediction.n_best if e.text), "")


def _report(values, figures):
  """What is printed: the fitted values and a table for each file."""
  lines = [f"temperature {values['temperature']:.4f}"]
  if values["version_2_with_negative"]:
    lines.append(
      f"null_score_diff_threshold {values['null_score_diff_threshold']:.4f}"
    )
  for name, part in figures.items():
    lines += [
      "",
      f"{name} on {part['data']}, {part['num_questions']} questions",
      format_calibration(part["before"], part["after"]),
    ]
  return "\n".join(lines)


def _plots(figures):
  """The PNG files, of the questions that were not fitted if there are any."""
  # Loads matplotlib, an extra, which a calibration without plots does not need.
  from bert_span.reporting import calibration_plots

  part = figures.get("evaluated", figures["fitted"])
  stages = ("before", "after")
  return {
    "reliability.png": calibration_plots.reliability_png(
      {stage: part[stage]["reliability"] for stage in stages}
    ),
    "risk_coverage.png": calibration_plots.risk_coverage_png(
      {stage: part[stage]["risk_coverage"] for stage in stages}
    ),
  }


def _write(folder, report, plots):
  """Writes calibration.json and the plots; gives their paths."""
  tf.io.gfile.makedirs(folder)
  paths = [os.path.join(folder, "calibration.json")]
  atomic_file.write_json_atomically(paths[0], report)
  for name, png in plots.items():
    paths.append(os.path.join(folder, name))
    with atomic_file.open_atomically(paths[-1], binary=True) as file:
      file.write(png)
  return paths
