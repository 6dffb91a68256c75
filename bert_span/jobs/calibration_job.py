"""What calibrate does, with plain arguments: answers, fits, measures."""

import dataclasses
import os

import numpy as np

from bert_span.answers.scoring import null_threshold
from bert_span.answers.scoring.answer_confidence import (
  AnswerConfidence,
  decoded_part,
)
from bert_span.answers.scoring.official_scores import official_scores
from bert_span.answers.scoring.reliability import (
  equal_mass_bins,
  equal_width_bins,
  risk_coverage,
)
from bert_span.answers.scoring.squad2 import score_question
from bert_span.answers.scoring.temperature import fit_temperature
from bert_span.answers.window_logits import WindowDecoder
from bert_span.squad.reader import SquadFile


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
    decode = WindowDecoder(options)
    return [p for batch in self.batches for p in decode(batch)]


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
  batches = [
    decoded_part(logits)
    for logits in extractor.window_logits(squad_file.examples, batch_size)
  ]
  predictions = [p for batch in batches for p in extractor.decode(batch)]
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


def calibration_figures(scored, options):
  """How far probabilities can be trusted, before and by fitted options.

  Args:
    scored: `ScoredQuestions`.
    options: what `fitted_options` gives.

  Returns:
    Dict of data (the file's name), num_questions, before and after. Each of
    the last two holds what `official_scores` gives, num_answered,
    expected_calibration_error and, of bins of equal mass,
    equal_mass_calibration_error, both over the probabilities of the answers
    and their exact match, from 0 to 1; and, to be drawn, reliability,
    equal_mass_reliability (`ReliabilityBins`) and risk_coverage
    (`RiskCoverage`).
  """
  return {
    "data": os.path.basename(scored.squad_file.path),
    "num_questions": len(scored.squad_file.examples),
    "before": _figures(scored.squad_file, scored.predictions),
    "after": _figures(scored.squad_file, scored.decode(options)),
  }


def figures_as_json(figures):
  """The dict of `calibration_figures` as JSON can hold it."""
  return {
    name: {
      key: value.as_dict() if hasattr(value, "as_dict") else value
      for key, value in part.items()
    }
    if isinstance(part, dict)
    else part
    for name, part in figures.items()
  }


def correct_answers(examples, predictions):
  """Which answers are right, by exact match.

  Args:
    examples: sequence of `SquadExample`.
    predictions: list of `Prediction`, in the same order.

  Returns:
    float64 [questions], 1 for right and 0 for wrong.
  """
  return np.array(
    [
      score_question(example, prediction.text).exact
      for example, prediction in zip(examples, predictions, strict=True)
    ],
    np.float64,
  )


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


def _figures(squad_file, predictions):
  confidence = np.array([p.probability for p in predictions])
  correct = correct_answers(squad_file.examples, predictions)
  by_width = equal_width_bins(confidence, correct)
  by_mass = equal_mass_bins(confidence, correct)
  return {
    **official_scores(squad_file, {p.qas_id: p.text for p in predictions}),
    "num_answered": sum(bool(p.text) for p in predictions),
    "expected_calibration_error": by_width.calibration_error,
    "equal_mass_calibration_error": by_mass.calibration_error,
    "reliability": by_width,
    "equal_mass_reliability": by_mass,
    "risk_coverage": risk_coverage(confidence, correct),
  }
