"""Plots of calibration."""

import numpy as np
import pytest

from bert_span.answers.scoring.reliability import (
  equal_width_bins,
  risk_coverage,
)

pytest.importorskip("matplotlib", reason="pip install -e '.[report]'")
from bert_span.reporting.calibration_plots import (
  reliability_png,
  risk_coverage_png,
)

_CONFIDENCE = np.array([0.1, 0.3, 0.35, 0.8, 1.0])
_CORRECT = np.array([0, 1, 0, 1, 1])


@pytest.mark.parametrize(
  ("plot", "summarize"),
  [(reliability_png, equal_width_bins), (risk_coverage_png, risk_coverage)],
)
def test_a_plot_shows_the_numbers_of_each_name(plot, summarize):
  right = summarize(_CONFIDENCE, _CORRECT)
  wrong = summarize(_CONFIDENCE, 1 - _CORRECT)
  png = plot({"before": right, "after": right})
  assert png.startswith(b"\x89PNG")
  assert png == plot({"before": right, "after": right})
  assert png != plot({"before": right, "after": wrong})
