"""What a calibration reports: how far probabilities can be trusted."""

import os

import numpy as np

from bert_span.answers.scoring.official_scores import official_scores
from bert_span.answers.scoring.reliability import (
  equal_mass_bins,
  equal_width_bins,
  risk_coverage,
)
from bert_span.answers.scoring.squad2 import score_question


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
