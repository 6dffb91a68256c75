"""Reliability diagram and risk-coverage curve as PNG.

Importing this needs matplotlib, which is in the extra "report".
"""

import io

import numpy as np

try:
  from matplotlib.figure import Figure
except ValueError as error:
  raise ValueError(
    f"matplotlib cannot be imported: {error}. Correct the environment variable "
    "MPLBACKEND, or matplotlibrc."
  ) from error

_DPI = 120
_BARS, _GAP, _TRUTH = "#4c78a8", "#e45756", "#555555"


def reliability_png(bins_of):
  """Draws the accuracy of each bin, its gap to the mean confidence, and size.

  Args:
    bins_of: dict from the title of a panel to its `ReliabilityBins`.

  Returns:
    bytes, a PNG of 480 by 552 pixels per panel.
  """
  figure = Figure(figsize=(4 * len(bins_of), 4.6), layout="constrained")
  panels = figure.subplots(
    2, len(bins_of), squeeze=False, sharex=True, height_ratios=(4, 1)
  )  # [2, panels]
  for (title, bins), axes in zip(bins_of.items(), panels.T, strict=True):
    _draw_reliability(axes[0], bins)
    axes[0].set_title(f"{title}: ECE {bins.calibration_error:.3f}")
    _draw_shares(axes[1], bins)
  panels[0, 0].set_ylabel("share that is right")
  panels[1, 0].set_ylabel("share of all")
  return _png(figure)


def risk_coverage_png(curve_of):
  """Draws the share of wrong answers among the most confident ones.

  `curve_of` is a dict from the name of a line to its `RiskCoverage`. The PNG
  has 648 by 480 pixels.
  """
  figure = Figure(figsize=(5.4, 4), layout="constrained")
  axes = figure.subplots()
  for name, curve in curve_of.items():
    # Steps up to each point: the area below the line is the reported area.
    axes.step(
      np.concatenate([[0.0], curve.coverage]),
      np.concatenate([curve.risk[:1], curve.risk]),
      where="pre",
      label=f"{name}: area {curve.area:.3f}",
    )
  axes.set(
    xlim=(0, 1),
    ylim=(0, None),
    xlabel="coverage: share of the questions answered",
    ylabel="risk: share of these answers that is wrong",
  )
  axes.grid(alpha=0.3)
  axes.legend()
  return _png(figure)


def _draw_reliability(axes, bins):
  used = bins.counts > 0
  left, width = bins.lower[used], _widths(bins)[used]
  accuracy = bins.accuracy[used]
  gap = bins.mean_confidence[used] - accuracy
  axes.bar(left, accuracy, width, align="edge", color=_BARS, edgecolor="white")
  axes.bar(
    left,
    gap,
    width,
    bottom=accuracy,
    align="edge",
    facecolor=(_GAP, 0.25),
    edgecolor=_GAP,
    label="to mean confidence",
  )
  axes.plot([0, 1], [0, 1], "--", color=_TRUTH, linewidth=1, label="calibrated")
  axes.set(xlim=(0, 1), ylim=(0, 1))
  axes.legend(loc="upper left", fontsize="small")


def _draw_shares(axes, bins):
  share = bins.counts / max(bins.counts.sum(), 1)
  axes.bar(bins.lower, share, _widths(bins), align="edge", color=_BARS)
  axes.set(ylim=(0, max(np.max(share, initial=0), 0.01)), xlabel="confidence")


def _widths(bins):
  """Widths of the bins; a bin of equal confidences is a visible line."""
  return np.maximum(bins.upper - bins.lower, 0.005)


def _png(figure):
  buffer = io.BytesIO()
  # Without matplotlib's version, equal figures have equal bytes.
  figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
  return buffer.getvalue()
