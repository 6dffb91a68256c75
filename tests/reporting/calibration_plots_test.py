"""Plots of calibration."""

import io

import numpy as np
import pytest

from bert_span.answers.scoring.reliability import (
  equal_mass_bins,
  equal_width_bins,
  risk_coverage,
)

pytest.importorskip("matplotlib", reason="pip install -e '.[report]'")
from matplotlib import image

from bert_span.reporting import calibration_plots

_CONFIDENCE = np.array([0.1, 0.3, 0.35, 0.8, 1.0])
_CORRECT = np.array([0, 1, 0, 1, 1])


def test_a_reliability_diagram_has_a_panel_for_each_name():
  bins = equal_mass_bins(_CONFIDENCE, _CORRECT)
  none = equal_width_bins([], [])
  png = calibration_plots.reliability_png({"before": bins, "after": none})
  pixels = image.imread(io.BytesIO(png), format="png")
  assert pixels.shape[:2] == (552, 960)


def test_plots_show_their_numbers():
  bins = equal_width_bins(_CONFIDENCE, _CORRECT)
  other = equal_width_bins(_CONFIDENCE, 1 - _CORRECT)
  first, again, second = (
    calibration_plots.reliability_png({"model": b}) for b in (bins, bins, other)
  )
  assert first == again
  assert first != second
  right = risk_coverage(_CONFIDENCE, _CORRECT)
  wrong = risk_coverage(_CONFIDENCE, 1 - _CORRECT)
  assert calibration_plots.risk_coverage_png(
    {"model": right}
  ) != calibration_plots.risk_coverage_png({"model": wrong})
