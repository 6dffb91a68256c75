"""How far confidences can be trusted: reliability, risk and coverage.

A confidence is calibrated if answers given with confidence c are right in c of
all cases. It ranks well if the answers that are wrong are those of low
confidence. The first is measured by reliability bins and their expected
calibration error, the second by the risk-coverage curve; neither says anything
about the other. In all of it "correct" is 1 for a right answer and 0 for a
wrong one, or anything between, such as F1 or a share of annotators.
"""

import dataclasses

import numpy as np

NUM_BINS = 15


@dataclasses.dataclass(frozen=True)
class ReliabilityBins:
  """Predictions in groups of similar confidence.

  Attributes:
    lower, upper: float64 [bins], the confidences that a bin is for.
    counts: int64 [bins], predictions in it.
    confidence_sums: float64 [bins], sum of their confidences.
    correct_sums: float64 [bins], sum of how far they are correct.
  """

  lower: np.ndarray
  upper: np.ndarray
  counts: np.ndarray
  confidence_sums: np.ndarray
  correct_sums: np.ndarray

  def plus(self, other):
    """The bins of both sets of predictions together.

    Args:
      other: `ReliabilityBins` of the same ranges.

    Returns:
      `ReliabilityBins`.
    """
    if not (
      np.array_equal(self.lower, other.lower)
      and np.array_equal(self.upper, other.upper)
    ):
      raise ValueError(
        "Only bins of the same ranges can be added. Received lower ends "
        f"{self.lower.tolist()} and {other.lower.tolist()}."
      )
    return ReliabilityBins(
      self.lower,
      self.upper,
      self.counts + other.counts,
      self.confidence_sums + other.confidence_sums,
      self.correct_sums + other.correct_sums,
    )

  @property
  def mean_confidence(self):
    """Of each bin: float64 [bins], NaN where it is empty."""
    return _ratios(self.confidence_sums, self.counts)

  @property
  def accuracy(self):
    """Mean of "correct" in each bin: float64 [bins], NaN where it is empty."""
    return _ratios(self.correct_sums, self.counts)

  @property
  def calibration_error(self):
    """The expected calibration error, from 0 to 1.

    ECE = sum_b counts_b / n * |accuracy_b - mean_confidence_b|; 0.0 where
    there are no predictions.

    Source: Guo et al., On Calibration of Modern Neural Networks, 2017.
    """
    differences = np.abs(self.correct_sums - self.confidence_sums)
    return float(differences.sum() / max(self.counts.sum(), 1))

  def as_dict(self):
    """The bins as JSON can hold them.

    Returns:
      Dict of lists, one value a bin: lower, upper, count, confidence (mean)
      and accuracy, None where a bin is empty; and calibration_error.
    """
    return {
      "lower": self.lower.tolist(),
      "upper": self.upper.tolist(),
      "count": self.counts.tolist(),
      "confidence": _with_none(self.mean_confidence),
      "accuracy": _with_none(self.accuracy),
      "calibration_error": self.calibration_error,
    }


def equal_width_bins(confidence, correct, num_bins=NUM_BINS):
  """Bins that divide the confidences from 0 to 1 into equal ranges.

  Bin b holds b / num_bins <= confidence < (b + 1) / num_bins, the last one
  also 1.

  Args:
    confidence: float [predictions], from 0 to 1.
    correct: float [predictions], from 0 to 1.
    num_bins: int, at least 1.

  Returns:
    `ReliabilityBins`.

  Raises:
    ValueError: the arrays differ in length, or a value is out of range.
  """
  confidence, correct = _checked(confidence, correct, num_bins)
  # Quotients, not np.linspace, whose 0.3 is 0.30000000000000004.
  edges = np.arange(num_bins + 1) / num_bins
  index = np.searchsorted(edges[1:-1], confidence, side="right")
  return _bins(edges[:-1], edges[1:], index, confidence, correct)


def equal_mass_bins(confidence, correct, num_bins=NUM_BINS):
  """Bins of about as many predictions each, in order of confidence.

  Where most confidences are high, as of a good model, bins of equal width are
  nearly all empty but the last. Equal confidences share the bin of the first
  of them, so that the order of the predictions decides nothing:

      confidence  0.2  0.5  0.5  0.5  0.9  0.9     num_bins = 3
      by rank       0    0    1    1    2    2
      bin           0    0    0    0    2    2     bin 1 is empty: left out

  Args:
    confidence, correct, num_bins: see `equal_width_bins`.

  Returns:
    `ReliabilityBins` without empty ones, from the lowest to the highest
    confidence in each.

  Raises:
    ValueError: see `equal_width_bins`.

  Source: Nguyen and O'Connor, Posterior calibration and exploratory analysis
  for natural language processing models, 2015.
  """
  confidence, correct = _checked(confidence, correct, num_bins)
  first_rank = np.searchsorted(np.sort(confidence), confidence, side="left")
  by_rank = first_rank * num_bins // max(len(confidence), 1)
  _, index = np.unique(by_rank, return_inverse=True)
  used = index.max(initial=-1) + 1
  lower, upper = np.ones(used), np.zeros(used)
  np.minimum.at(lower, index, confidence)
  np.maximum.at(upper, index, confidence)
  return _bins(lower, upper, index, confidence, correct)


@dataclasses.dataclass(frozen=True)
class RiskCoverage:
  """What share of answers is wrong if only the surest ones are given.

  A point stands for a threshold: answers of at least that confidence are
  given. Equal confidences are given together, so there are as many points as
  different confidences.

  Attributes:
    threshold: float64 [points], falling.
    coverage: float64 [points], share of the questions that are answered; the
      last is 1.
    risk: float64 [points], mean of 1 - correct over those answered.
    area: float, the area under the risk over the coverage: each answer's
      risk at its own threshold, on average. Lower is better; confidences that
      say nothing give about the last risk.
  """

  threshold: np.ndarray
  coverage: np.ndarray
  risk: np.ndarray
  area: float

  def as_dict(self, max_points=200):
    """The curve as JSON can hold it.

    Args:
      max_points: of more points, so many at about equal steps of their order
        stay, the first and the last among them; at least 2.

    Returns:
      Dict of lists threshold, coverage and risk, and of the number area, which
      is that of all points.
    """
    last = len(self.coverage) - 1
    steps = np.linspace(0, last, min(max_points, last + 1))
    kept = np.round(steps).astype(int)
    return {
      "threshold": self.threshold[kept].tolist(),
      "coverage": self.coverage[kept].tolist(),
      "risk": self.risk[kept].tolist(),
      "area": self.area,
    }


def risk_coverage(confidence, correct):
  """The risk of the surest answers over the share that is given.

      confidence   0.9  0.8  0.8  0.3
      correct        1    1    0    0
      threshold    0.9       0.8  0.3
      coverage    0.25      0.75    1
      risk           0       1/3  1/2     area = (1*0 + 2*1/3 + 1*1/2) / 4

  Args:
    confidence: float [predictions], finite; any score that orders them.
    correct: float [predictions], from 0 to 1.

  Returns:
    `RiskCoverage`.

  Raises:
    ValueError: there is no prediction, the arrays differ in length, or a value
      is out of range.

  Source: El-Yaniv and Wiener, On the Foundations of Noise-free Selective
  Classification, 2010; the area as in Geifman et al., Bias-Reduced Uncertainty
  Estimation for Deep Neural Classifiers, 2019.
  """
  confidence = _vector(confidence, "confidence")
  correct = _vector(correct, "correct", within=(0, 1))
  _check_lengths(confidence, correct)
  if not len(confidence):
    raise ValueError("risk_coverage needs at least one prediction.")
  order = np.argsort(-confidence, kind="stable")
  confidence, wrong = confidence[order], 1 - correct[order]
  ends = np.append(confidence[1:] < confidence[:-1], True)
  answered = np.flatnonzero(ends) + 1
  risk = np.cumsum(wrong)[ends] / answered
  coverage = answered / len(confidence)
  area = float(np.sum(np.diff(coverage, prepend=0.0) * risk))
  return RiskCoverage(confidence[ends], coverage, risk, area)


def _bins(lower, upper, index, confidence, correct):
  """Sums up predictions by the index of their bin."""
  num_bins = len(lower)
  return ReliabilityBins(
    lower,
    upper,
    np.bincount(index, minlength=num_bins),
    np.bincount(index, confidence, num_bins),
    np.bincount(index, correct, num_bins),
  )


def _ratios(sums, counts):
  return np.divide(
    sums, counts, out=np.full(len(counts), np.nan), where=counts > 0
  )


def _with_none(values):
  return [None if np.isnan(value) else float(value) for value in values]


def _checked(confidence, correct, num_bins):
  """Both arrays as float64, once they are known to be right."""
  confidence = _vector(confidence, "confidence", within=(0, 1))
  correct = _vector(correct, "correct", within=(0, 1))
  _check_lengths(confidence, correct)
  if num_bins < 1:
    raise ValueError(f"num_bins must be at least 1. Received: {num_bins}")
  return confidence, correct


def _check_lengths(confidence, correct):
  if len(confidence) != len(correct):
    raise ValueError(
      "confidence and correct must have a value for each prediction. Received: "
      f"{len(confidence)} and {len(correct)}."
    )


def _vector(values, name, within=(-np.inf, np.inf)):
  values = np.asarray(values, np.float64)
  if values.ndim != 1:
    raise ValueError(
      f"{name} must be one row of numbers. Received shape: {values.shape}"
    )
  lowest, highest = within
  is_wrong = ~(np.isfinite(values) & (values >= lowest) & (values <= highest))
  if is_wrong.any():
    raise ValueError(
      f"{name} must be finite numbers from {lowest:g} to {highest:g}. "
      f"Received: {values[is_wrong][0]} at index {np.flatnonzero(is_wrong)[0]}."
    )
  return values
