"""Measures the reliability of confidences, and risk over coverage.

A confidence is calibrated if answers with confidence c are right in a share c
of all cases. Reliability bins and their expected calibration error measure
that. It ranks well if wrong answers have low confidences. The risk-coverage
curve measures that. "correct" is a number from 0 to 1: right or wrong, or a
score such as F1.
"""

import dataclasses

import numpy as np

NUM_BINS = 15


class ReliabilityBins:
  """Predictions in groups of similar confidence; `index` is the bin of each.

  lower, upper, count, confidence and accuracy are arrays [bins]. The last two
  are means, NaN in empty bins. calibration_error is 0 without predictions, else

      ECE = sum_b count_b / n * |accuracy_b - confidence_b|

  Source: Guo et al., On Calibration of Modern Neural Networks, 2017.
  """

  def __init__(self, lower, upper, index, confidence, correct):
    self.lower, self.upper = lower, upper
    self.count = np.bincount(index, minlength=len(lower))
    confidences = np.bincount(index, confidence, len(lower))
    corrects = np.bincount(index, correct, len(lower))
    divisors = np.where(self.count > 0, self.count, np.nan)
    self.confidence = confidences / divisors
    self.accuracy = corrects / divisors
    total = np.abs(corrects - confidences).sum()
    self.calibration_error = float(total / max(self.count.sum(), 1))

  def as_dict(self):
    """Returns lists for JSON, one value a bin; None for means of empty bins."""
    names = ("lower", "upper", "count", "confidence", "accuracy")
    lists = {
      name: [None if np.isnan(x) else x for x in getattr(self, name).tolist()]
      for name in names
    }
    return {**lists, "calibration_error": self.calibration_error}


def equal_width_bins(confidence, correct, num_bins=NUM_BINS):
  """Returns `ReliabilityBins` of equal width from 0 to 1.

  Bin b has b / num_bins <= confidence < (b + 1) / num_bins; the last bin has 1,
  too. `confidence` and `correct` are float [predictions], from 0 to 1.
  """
  # np.linspace would give 0.30000000000000004 for 0.3.
  edges = np.arange(num_bins + 1) / num_bins
  index = np.searchsorted(edges[1:-1], confidence, side="right")
  return ReliabilityBins(edges[:-1], edges[1:], index, confidence, correct)


def equal_mass_bins(confidence, correct, num_bins=NUM_BINS):
  """Returns `ReliabilityBins` of about equal counts, without empty bins.

  Equal confidences are in the bin of the first of them, so that the order of
  the predictions has no effect:

      confidence  0.2  0.5  0.5  0.5  0.9  0.9     num_bins = 3
      by rank       0    0    1    1    2    2
      bin           0    0    0    0    2    2     bin 1 is empty: dropped

  Source: Nguyen and O'Connor, Posterior calibration and exploratory analysis
  for natural language processing models, 2015.
  """
  confidence = np.asarray(confidence, np.float64)
  first_rank = np.searchsorted(np.sort(confidence), confidence, side="left")
  by_rank = first_rank * num_bins // max(len(confidence), 1)
  _, index = np.unique(by_rank, return_inverse=True)
  used = index.max(initial=-1) + 1
  lower, upper = np.ones(used), np.zeros(used)
  np.minimum.at(lower, index, confidence)
  np.maximum.at(upper, index, confidence)
  return ReliabilityBins(lower, upper, index, confidence, correct)


@dataclasses.dataclass(frozen=True)
class RiskCoverage:
  """The share of wrong answers if only the most confident answers count.

  `area` is the area under risk over coverage. Lower is better; random
  confidences have about the last risk.
  """

  threshold: np.ndarray  # float64 [points], lowest confidence, descending
  coverage: np.ndarray  # answered share of the questions; the last is 1
  risk: np.ndarray  # mean of 1 - correct over the answered questions
  area: float

  def as_dict(self, max_points=200):
    """Returns lists for JSON of at most max_points points, with both ends."""
    num_points = len(self.coverage)
    steps = np.linspace(0, num_points - 1, min(max_points, num_points))
    kept = np.round(steps).astype(int)
    names = ("threshold", "coverage", "risk")
    lists = {name: getattr(self, name)[kept].tolist() for name in names}
    return {**lists, "area": self.area}


def risk_coverage(confidence, correct):
  """Returns the `RiskCoverage` of predictions. An example:

      confidence   0.9  0.8  0.8  0.3
      correct        1    1    0    0
      threshold    0.9       0.8  0.3
      coverage    0.25      0.75    1
      risk           0       1/3  1/2     area = (1*0 + 2*1/3 + 1*1/2) / 4

  `confidence` is any score that orders the predictions; one is needed at least.

  Source: El-Yaniv and Wiener, On the Foundations of Noise-free Selective
  Classification, 2010; the area as in Geifman et al., Bias-Reduced Uncertainty
  Estimation for Deep Neural Classifiers, 2019.
  """
  confidence = np.asarray(confidence, np.float64)
  order = np.argsort(-confidence, kind="stable")
  confidence = confidence[order]
  wrong = 1 - np.asarray(correct, np.float64)[order]
  is_last = np.append(confidence[1:] < confidence[:-1], True)
  answered = np.flatnonzero(is_last) + 1
  risk = np.cumsum(wrong)[is_last] / answered
  coverage = answered / len(confidence)
  area = float(np.sum(np.diff(coverage, prepend=0.0) * risk))
  return RiskCoverage(confidence[is_last], coverage, risk, area)
