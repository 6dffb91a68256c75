"""Bins of confidences, and risk over coverage, by hand."""

import json

import numpy as np
import pytest

from bert_span.scoring.reliability import (
  equal_mass_bins,
  equal_width_bins,
  risk_coverage,
)

_FIVE = [0.1, 0.3, 0.35, 0.8, 1.0]
_RIGHT_OF_FIVE = [0, 1, 0, 1, 1]


def test_bins_by_hand():
  bins = equal_width_bins(_FIVE, _RIGHT_OF_FIVE, num_bins=4)
  assert bins.lower.tolist() == [0, 0.25, 0.5, 0.75]
  assert bins.upper.tolist() == [0.25, 0.5, 0.75, 1]
  assert bins.count.tolist() == [1, 2, 0, 2]
  np.testing.assert_allclose(bins.confidence, [0.1, 0.325, np.nan, 0.9])
  np.testing.assert_allclose(bins.accuracy, [0, 0.5, np.nan, 1])
  # 1/5 * 0.1 + 2/5 * 0.175 + 2/5 * 0.1
  assert bins.calibration_error == pytest.approx(0.13)
  bins = equal_mass_bins(_FIVE, _RIGHT_OF_FIVE, num_bins=2)
  # Ranks 0 1 2 | 3 4.
  assert bins.count.tolist() == [3, 2]
  np.testing.assert_allclose([bins.lower, bins.upper], [[0.1, 0.8], [0.35, 1]])
  # 3/5 * 1/12 + 2/5 * 1/10
  assert bins.calibration_error == pytest.approx(0.09)


def test_edges_belong_to_the_bin_above_and_equal_confidences_together():
  edges = equal_width_bins([k / 10 for k in range(11)], np.zeros(11), 10)
  assert edges.count.tolist() == [1] * 9 + [2]
  confidence = np.array([0.5, 0.9, 0.5, 0.2, 0.9, 0.5])
  correct = np.array([1, 1, 0, 0, 0, 1])
  for order in (np.arange(6), np.array([4, 3, 5, 1, 0, 2])):
    bins = equal_mass_bins(confidence[order], correct[order], num_bins=3)
    assert bins.count.tolist() == [4, 2]
    assert bins.accuracy.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("bins_of", [equal_width_bins, equal_mass_bins])
def test_calibration_error_by_hand(bins_of):
  for confidence, correct, error in (
    ([0.5, 0.25], [1, 1], (0.5 + 0.75) / 2),  # fewer predictions than bins
    ([0.5, 0.5], [0.25, 0.5], 0.125),  # Soft correctness counts as a share.
    ([], [], 0),
  ):
    bins = bins_of(confidence, correct)
    assert bins.calibration_error == pytest.approx(error)
    assert bins.count.sum() == len(correct)


def test_bins_and_curve_are_json_without_nan():
  bins = equal_width_bins(_FIVE, _RIGHT_OF_FIVE, 4).as_dict()
  confidence = np.arange(1000) / 1000
  curve = risk_coverage(confidence, confidence > 0.5).as_dict(max_points=5)
  text = json.dumps([bins, curve], allow_nan=False)
  assert json.loads(text) == [bins, curve]
  assert bins["accuracy"] == [0.0, 0.5, None, 1.0]
  # A long curve is thinned to its ends and points between.
  assert curve["coverage"] == [0.001, 0.251, 0.501, 0.75, 1.0]


@pytest.mark.parametrize(
  ("confidence", "correct", "threshold", "coverage", "risk"),
  [
    ([0.3, 0.9, 0.8], [0, 1, 0], [0.9, 0.8, 0.3], [1, 2, 3], [0, 1, 2]),
    # Equal confidences are one point.
    ([0.9, 0.8, 0.8, 0.3], [1, 1, 0, 0], [0.9, 0.8, 0.3], [1, 3, 4], [0, 1, 2]),
    # Any score orders a curve.
    ([-8.0, 12.5], [0, 1], [12.5, -8.0], [1, 2], [0, 1]),
  ],
)
def test_risk_coverage_by_hand(confidence, correct, threshold, coverage, risk):
  """`coverage` counts the answers that are given, `risk` the wrong ones."""
  curve = risk_coverage(confidence, correct)
  assert curve.threshold.tolist() == threshold
  shares = np.array(coverage) / len(correct)
  risks = np.array(risk) / coverage
  np.testing.assert_allclose(curve.coverage, shares)
  np.testing.assert_allclose(curve.risk, risks)
  steps = np.diff([0, *shares])
  assert curve.area == pytest.approx(sum(steps * risks))
