"""Reliability diagram and risk-coverage curve as PNG.

Importing this needs matplotlib, which the extra "report" brings. Only programs
that plot import it.
"""

import io

import numpy as np
from matplotlib.figure import Figure

_DPI = 120
_BARS, _GAP, _TRUTH = "#4c78a8", "#e45756", "#555555"


def reliability_png(bins_of):
  """Draws how often answers of each confidence are right.

  Each panel has a bar a bin, as high as its accuracy and as wide as its range;
  what is missing to its mean confidence, or is too much, stands as an outlined
  gap. On the diagonal confidence and accuracy are equal. Below it, the share
  of the predictions that each bin holds.

  Args:
    bins_of: dict of a panel's title to its `ReliabilityBins`, from left to
      right.

  Returns:
    bytes, a PNG of 120 dots an inch, 4 by 4.6 inches a panel.
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
  """Draws which share of the surest answers is wrong.

  Args:
    curve_of: dict of a line's name to its `RiskCoverage`.

  Returns:
    bytes, a PNG of 120 dots an inch, 5.4 by 4 inches.
  """
  figure = Figure(figsize=(5.4, 4), layout="constrained")
  axes = figure.subplots()
  for name, curve in curve_of.items():
    # Up to a point its own risk: so the area drawn is the area told.
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
  """Accuracy of each bin that has predictions, and its gap."""
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
    facecolor=(*_rgb(_GAP), 0.25),
    edgecolor=_GAP,
    label="to mean confidence",
  )
  axes.plot([0, 1], [0, 1], "--", color=_TRUTH, linewidth=1, label="calibrated")
  axes.set(xlim=(0, 1), ylim=(0, 1))
  axes.legend(loc="upper left", fontsize="small")


def _draw_shares(axes, bins):
  """The share of all predictions in each bin."""
  share = bins.counts / max(bins.counts.sum(), 1)
  axes.bar(bins.lower, share, _widths(bins), align="edge", color=_BARS)
  axes.set(ylim=(0, max(np.max(share, initial=0), 0.01)), xlabel="confidence")


def _widths(bins):
  """A bin of equal confidences is a line, which must be seen."""
  return np.maximum(bins.upper - bins.lower, 0.005)


def _rgb(colour):
  """Red, green and blue, from 0 to 1, of "#rrggbb"."""
  return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def _png(figure):
  buffer = io.BytesIO()
  # Without the version of matplotlib equal figures are equal bytes.
  figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
  return buffer.getvalue()
