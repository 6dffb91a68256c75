"""Reliability diagram and risk-coverage curve.

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


def reliability_figure(bins_of):
  """Draws a dict of `ReliabilityBins` by title, as a `Figure`."""
  figure = Figure(figsize=(4 * len(bins_of), 4.6), layout="constrained")
  panels = figure.subplots(
    2, len(bins_of), squeeze=False, sharex=True, height_ratios=(4, 1)
  )  # [2, panels]
  for title, upper, lower in zip(bins_of, *panels, strict=True):
    bins = bins_of[title]
    upper.set_title(f"{title}: ECE {bins.calibration_error:.3f}")
    # A bin of equal confidences becomes a visible line.
    widths = np.maximum(bins.upper - bins.lower, 0.005)
    used = bins.count > 0
    accuracy = bins.accuracy[used]
    bars = {"x": bins.lower[used], "width": widths[used], "align": "edge"}
    upper.bar(**bars, height=accuracy, color=_BARS, edgecolor="white")
    upper.bar(
      **bars,
      height=bins.confidence[used] - accuracy,
      bottom=accuracy,
      facecolor=(_GAP, 0.25),
      edgecolor=_GAP,
      label="to mean confidence",
    )
    diagonal = {"color": _TRUTH, "linewidth": 1, "label": "calibrated"}
    upper.plot([0, 1], [0, 1], "--", **diagonal)
    upper.set(xlim=(0, 1), ylim=(0, 1))
    upper.legend(loc="upper left", fontsize="small")
    share = bins.count / max(bins.count.sum(), 1)
    lower.bar(bins.lower, share, widths, align="edge", color=_BARS)
    most = max(np.max(share, initial=0), 0.01)
    lower.set(ylim=(0, most), xlabel="confidence")
  panels[0, 0].set_ylabel("share that is right")
  panels[1, 0].set_ylabel("share of all")
  return figure


def risk_coverage_figure(curve_of):
  """Draws a dict of `RiskCoverage` by the line's name, as a `Figure`."""
  figure = Figure(figsize=(5.4, 4), layout="constrained")
  axes = figure.subplots()
  for name, curve in curve_of.items():
    # With steps, the area below the line is the reported area.
    coverage, risk = [0.0, *curve.coverage], [curve.risk[0], *curve.risk]
    label = f"{name}: area {curve.area:.3f}"
    axes.step(coverage, risk, where="pre", label=label)
  axes.set(
    xlim=(0, 1),
    ylim=(0, None),
    xlabel="coverage: share of the questions answered",
    ylabel="risk: share of these answers that is wrong",
  )
  axes.grid(alpha=0.3)
  axes.legend()
  return figure


def png_bytes(figure):
  """Returns a `Figure` as PNG; equal figures have equal bytes."""
  buffer = io.BytesIO()
  # By default, a PNG has the version of matplotlib in it.
  figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
  return buffer.getvalue()
