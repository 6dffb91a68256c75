"""How far probabilities can be trusted, as a section of the page."""

import dataclasses

import numpy as np

from bert_span.answers.scoring.reliability import (
  ReliabilityBins,
  RiskCoverage,
  equal_width_bins,
  risk_coverage,
)
from bert_span.reporting.markup import (
  Column,
  Section,
  image,
  note,
  sortable_table,
)

_BIN_COLUMNS = (
  Column("Probability"),
  Column("Questions", is_number=True),
  Column("Mean probability", is_number=True, is_percent=True),
  Column("EM", is_number=True, is_percent=True),
)
_COVERAGE_COLUMNS = (
  Column("Questions answered"),
  Column("Least probability", is_number=True, is_percent=True),
  Column("Wrong answers", is_number=True, is_percent=True),
)
_COVERAGES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # shares of the questions


@dataclasses.dataclass(frozen=True)
class Confidence:
  """What the probabilities of some predictions are worth.

  Attributes:
    bins: `ReliabilityBins` of the probabilities, right being an exact match.
    curve: `RiskCoverage` of the same.
  """

  bins: ReliabilityBins
  curve: RiskCoverage


def confidence_of(results):
  """Compares probabilities with exact matches.

  Args:
    results: list of `QuestionResult`; those without a prediction do not count.

  Returns:
    `Confidence`; None where there is no prediction.
  """
  pairs = [
    (result.probability, result.exact)
    for result in results
    if result.probability is not None
  ]
  if not pairs:
    return None
  probability, exact = zip(*pairs, strict=True)
  return Confidence(
    equal_width_bins(probability, exact), risk_coverage(probability, exact)
  )


def calibration_section(confidence, reliability_png, risk_coverage_png):
  """Both plots, and their numbers as tables.

  Args:
    confidence: `Confidence`.
    reliability_png: bytes, the reliability diagram.
    risk_coverage_png: bytes, the risk-coverage curve.

  Returns:
    `Section`.
  """
  bins, curve = confidence.bins, confidence.curve
  plots = [
    image(
      reliability_png,
      "image/png",
      "Reliability diagram: the share of exact matches for each range of "
      "probability; the table below has its numbers.",
      "Bars on the diagonal: the probability says how often the model is "
      "right. Below it the model is too sure of itself.",
    ),
    image(
      risk_coverage_png,
      "image/png",
      "Risk-coverage curve: the share of wrong answers over the share of "
      "questions answered, the surest first; the table below has its numbers.",
      "How many answers are wrong if only the surest ones are given.",
    ),
  ]
  error, area = 100 * bins.calibration_error, curve.area
  return Section(
    "calibration",
    "Can the probabilities be trusted?",
    "\n".join(
      [
        note(
          f"Expected calibration error {error:.2f} percentage points, area "
          f"under the risk-coverage curve {area:.3f}; right is an exact match."
        ),
        f'<div class="columns">{"".join(plots)}</div>',
        "<details><summary>The numbers</summary>",
        f'<div class="columns">{_bin_table(bins)}{_coverage_table(curve)}',
        "</div></details>",
      ]
    ),
  )


def _bin_table(bins):
  rows = [
    [
      f"{100 * bins.lower[i]:.1f} to {100 * bins.upper[i]:.1f} %",
      int(bins.counts[i]),
      100.0 * float(bins.mean_confidence[i]),
      100.0 * float(bins.accuracy[i]),
    ]
    for i in np.flatnonzero(bins.counts)
  ]
  return sortable_table("Reliability", _BIN_COLUMNS, rows)


def _coverage_table(curve):
  """The first point of the curve at each coverage or beyond."""
  # Sums of shares may fall short of 1 by a rounding.
  points = np.searchsorted(curve.coverage, np.array(_COVERAGES) - 1e-9)
  rows = [
    [
      f"{100 * curve.coverage[i]:.1f} %",
      100.0 * float(curve.threshold[i]),
      100.0 * float(curve.risk[i]),
    ]
    for i in dict.fromkeys(points.tolist())
  ]
  return sortable_table("Risk and coverage", _COVERAGE_COLUMNS, rows)
