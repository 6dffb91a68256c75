"""Formats scores as small tables for the terminal."""

import io

from rich.console import Console
from rich.table import Table

_SQUAD2_ROWS = {"": "all", "HasAns_": "answerable", "NoAns_": "unanswerable"}
_BIO_LINES = {
  "tag_cross_entropy": "cross-entropy of the tags, in nats per token:",
  "annotator_entropy": "  entropy of the annotators' tags alone:",
  "entropy_correlation": "correlation of both entropies:",
  "tag_calibration_error": "calibration error of being in an answer:",
}


def format_scores(scores):
  """Lays out the scores of evaluate_squad1 or evaluate_squad2."""

  def cells(*names, digits=2):
    return [f"{scores[name]:.{digits}f}" for name in names]

  if "exact_match" in scores:
    row = ["all", *cells("exact_match", "f1")]
    return text_table([["", "exact match", "f1"], row])
  rows = [["", "exact", "f1", "questions"]]
  for prefix, label in _SQUAD2_ROWS.items():
    if f"{prefix}exact" in scores:
      total = str(scores[f"{prefix}total"])
      rows.append([label, *cells(f"{prefix}exact", f"{prefix}f1"), total])
  if "best_exact" in scores:
    thresholds = cells("best_exact_thresh", "best_f1_thresh", digits=3)
    rows.append(["best", *cells("best_exact", "best_f1")])
    rows.append(["best threshold", *thresholds])
  return text_table(rows)


def format_bio_scores(scores):
  """Lays out scores of evaluate_multi_span and of `agreement_scores`."""
  ratios = ("precision", "recall", "f1")
  rows = [["", *ratios]]
  names = {"exact_match": "exact match", "overlap": "partial match"}
  for name, label in names.items():
    rows.append([label, *(f"{scores[f'{name}_{r}']:.2f}" for r in ratios)])
  lines = [text_table(rows)]
  for name, label in _BIO_LINES.items():
    if name in scores:
      lines.append(f"{label} {scores[name]:.4f}")
  return "\n".join(lines)


def format_calibration(before, after):
  """Lays out the `calibration_figures` before and after the fit."""
  stages = [{**s, "area": s["risk_coverage"].area} for s in (before, after)]
  exact = "exact_match" if "exact_match" in before else "exact"
  rows = [["", "before", "after"]]
  for label, (key, digits) in {
    "exact match": (exact, 2),
    "f1": ("f1", 2),
    "questions answered": ("num_answered", 0),
    "ECE, equal ranges": ("expected_calibration_error", 4),
    "ECE, equal counts": ("equal_mass_calibration_error", 4),
    "area of risk, coverage": ("area", 4),
  }.items():
    rows.append([label, *(f"{stage[key]:.{digits}f}" for stage in stages)])
  return text_table(rows)


def text_table(rows):
  """Aligns rows of strings: the first column left, all others right."""
  table = Table(box=None, show_header=False, pad_edge=False)
  for index in range(max(map(len, rows))):
    table.add_column(justify="right" if index else "left", no_wrap=True)
  for row in rows:
    table.add_row(*row)
  # Unlimited width, and no colour, markup or emoji.
  plain = {"color_system": None, "markup": False, "emoji": False}
  console = Console(file=io.StringIO(), width=1000, **plain)
  console.print(table)
  lines = console.file.getvalue().splitlines()
  return "\n".join(line.rstrip() for line in lines)
