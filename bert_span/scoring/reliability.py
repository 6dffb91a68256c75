"""Reliability of confidences, risk and coverage.

A confidence is calibrated if answers given with confidence c are right in c of
all cases: reliability bins and their expected calibration error measure that.
It ranks well if the wrong answers are those of low confidence: the
risk-coverage curve measures that. "correct" is from 0 to 1: right or wrong, or
a share, such as F1.
"""

import dataclasses

import numpy as np

NUM_BINS = 15


class ReliabilityBins:
  """Predictions in groups of similar confidence; `index` is the bin of each.

  lower, upper, count and the means confidence and accuracy, NaN in empty bins,
  are arrays [bins]. calibration_error is 0 without predictions, else

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
    """Lists for JSON, one value a bin; None for the means of empty bins."""
    names = ("lower", "upper", "count", "confidence", "accuracy")
    lists = {
      name: [None if np.isnan(x) else x for x in getattr(self, name).tolist()]
      for name in names
    }
    return {**lists, "calibration_error": self.calibration_error}


def equal_width_bins(confidence, correct, num_bins=NUM_BINS):
  """Returns `ReliabilityBins` that divide the confidences from 0 to 1 equally.

  Bin b holds b / num_bins <= confidence < (b + 1) / num_bins, the last one
  also 1. `confidence` and `correct` are float [predictions], from 0 to 1.
  """
  # Quotients, not np.linspace, whose 0.3 is 0.30000000000000004.
  edges = np.arange(num_bins + 1) / num_bins
  index = np.searchsorted(edges[1:-1], confidence, side="right")
  return ReliabilityBins(edges[:-1], edges[1:], index, confidence, correct)


def equal_mass_bins(confidence, correct, num_bins=NUM_BINS):
  """`ReliabilityBins` of about as many predictions each, without empty ones.

  Equal confidences share the bin of the first of them, so that the order of the
  predictions decides nothing:

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
  """The share of wrong answers if only the most confident ones are given.

  The area is that under the risk over the coverage; lower is better, and that
  of random confidences is about the last risk.
  """

  threshold: np.ndarray  # float64 [points], lowest confidence given, falling
  coverage: np.ndarray  # share of the questions answered; the last is 1
  risk: np.ndarray  # mean of 1 - correct over those answered
  area: float

  def as_dict(self, max_points=200):
    """Lists for JSON of at most max_points points, the ends among them."""
    num_points = len(self.coverage)
    steps = np.linspace(0, num_points - 1, min(max_points, num_points))
    kept = np.round(steps).astype(int)
    names = ("threshold", "coverage", "risk")
    lists = {name: getattr(self, name)[kept].tolist() for name in names}
    return {**lists, "area": self.area}


def risk_coverage(confidence, correct):
  """Returns the `RiskCoverage` of some predictions.

      confidence   0.9  0.8  0.8  0.3
      correct        1    1    0    0
      threshold    0.9       0.8  0.3
      coverage    0.25      0.75    1
      risk           0       1/3  1/2     area = (1*0 + 2*1/3 + 1*1/2) / 4

  `confidence` is any score that orders the predictions, of which there is at
  least one.

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
