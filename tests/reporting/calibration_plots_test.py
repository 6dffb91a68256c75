"""What the plots of calibration show."""

import numpy as np
import pytest

from bert_span.scoring.reliability import (
  equal_width_bins,
  risk_coverage,
)

pytest.importorskip("matplotlib", reason="pip install -e '.[report]'")
from bert_span.reporting.calibration_plots import (
  png_bytes,
  reliability_figure,
  risk_coverage_figure,
)

_CONFIDENCE = np.array([0.1, 0.3, 0.35, 0.8, 1.0])
_CORRECT = np.array([0, 1, 0, 1, 1])


def test_a_reliability_diagram_has_a_bar_from_accuracy_to_confidence_a_bin():
  bins = equal_width_bins(_CONFIDENCE, _CORRECT, 2)
  figure = reliability_figure({"before": bins, "after": bins})
  upper, other, lower, _ = figure.axes
  # [0, 0.5): one of three right, mean 0.25; [0.5, 1]: two of two, mean 0.9.
  # 3 / 5 * (1 / 3 - 0.25) + 2 / 5 * (1 - 0.9)
  assert upper.get_title() == "before: ECE 0.090"
  assert other.get_title() == "after: ECE 0.090"
  accuracies, gaps = upper.containers
  assert [bar.get_height() for bar in accuracies] == pytest.approx([1 / 3, 1])
  ends = [bar.get_y() + bar.get_height() for bar in gaps]
  assert ends == pytest.approx([0.25, 0.9])
  (shares,) = lower.containers
  assert [bar.get_height() for bar in shares] == pytest.approx([0.6, 0.4])
  assert [bar.get_x() for bar in shares] == [0.0, 0.5]


def test_a_risk_coverage_curve_has_its_points_and_area():
  curve = risk_coverage(_CONFIDENCE, _CORRECT)
  (axes,) = risk_coverage_figure({"model": curve}).axes
  (line,) = axes.lines
  assert line.get_label() == f"model: area {curve.area:.3f}"
  coverage, risk = line.get_xdata(), line.get_ydata()
  np.testing.assert_allclose(coverage, [0, 0.2, 0.4, 0.6, 0.8, 1])
  np.testing.assert_allclose(risk, [0, 0, 0, 1 / 3, 1 / 4, 2 / 5])
  assert png_bytes(axes.figure).startswith(b"\x89PNG")
