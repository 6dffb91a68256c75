"""Scores as small tables for the terminal."""

import io

from rich.console import Console
from rich.table import Table

_SQUAD2_ROWS = {
  "": "all",
  "HasAns_": "answerable",
  "NoAns_": "unanswerable",
}
_BIO_LINES = {
  "tag_cross_entropy": "cross-entropy of the tags, in nats per token:",
  "annotator_entropy": "  entropy of the annotators' tags alone:",
  "entropy_correlation": "correlation of both entropies:",
  "tag_calibration_error": "calibration error of being in an answer:",
}


def format_scores(scores):
  """Lays out SQuAD 1.1 or 2.0 scores, without a newline at the end.

  For SQuAD 2.0 with no-answer scores, for example:

                     exact      f1  questions
    all              81.25   84.02      11873
    answerable       78.10   83.60       5928
    unanswerable     84.39   84.39       5945
    best             81.40   84.11
    best threshold  -1.250  -1.250

  Args:
    scores: the dict of evaluate_squad1 or evaluate_squad2, in percent.

  Raises:
    ValueError: the dict is from neither.
  """

  def percents(*names):
    return [f"{scores[name]:.2f}" for name in names]

  if "exact_match" in scores:
    rows = [["", "exact match", "f1"], ["all", *percents("exact_match", "f1")]]
    return text_table(rows)
  if "exact" not in scores:
    raise ValueError(
      'scores must come from evaluate_squad1 (key "exact_match") or '
      f'evaluate_squad2 (key "exact"). Received keys: {sorted(scores)}.'
    )
  rows = [["", "exact", "f1", "questions"]]
  for prefix, label in _SQUAD2_ROWS.items():
    if f"{prefix}exact" in scores:
      cells = percents(f"{prefix}exact", f"{prefix}f1")
      rows.append([label, *cells, str(scores[f"{prefix}total"])])
  if "best_exact" in scores:
    names = ("best_exact_thresh", "best_f1_thresh")
    rows += [
      ["best", *percents("best_exact", "best_f1")],
      ["best threshold", *(f"{scores[name]:.3f}" for name in names)],
    ]
  return text_table(rows)


def format_bio_scores(scores):
  """Lays out scores of answers of several spans, without a newline at the end.

                   precision  recall     f1
    exact match        41.20   38.75  39.94
    partial match      60.31   58.02  59.14
    cross-entropy of the tags, in nats per token: 0.1034

  Args:
    scores: the dict of evaluate_multi_span, in percent, and of
      AnnotatorAgreement.
  """
  parts = ("precision", "recall", "f1")
  rows = [["", *parts]]
  for name, label in (
    ("exact_match", "exact match"),
    ("overlap", "partial match"),
  ):
    rows.append([label, *(f"{scores[f'{name}_{p}']:.2f}" for p in parts)])
  lines = [
    f"{label} {scores[name]:.4f}"
    for name, label in _BIO_LINES.items()
    if name in scores
  ]
  return "\n".join([text_table(rows), *lines])


def format_calibration(before, after):
  """Lays out two dicts of `calibration_figures`, before and after the fit."""
  exact = "exact_match" if "exact_match" in before else "exact"
  columns = [
    (
      f"{figures[exact]:.2f}",
      f"{figures['f1']:.2f}",
      str(figures["num_answered"]),
      f"{figures['expected_calibration_error']:.4f}",
      f"{figures['equal_mass_calibration_error']:.4f}",
      f"{figures['risk_coverage'].area:.4f}",
    )
    for figures in (before, after)
  ]
  labels = (
    "exact match",
    "f1",
    "questions answered",
    "ECE, equal ranges",
    "ECE, equal counts",
    "area of risk, coverage",
  )
  rows = [("", "before", "after"), *zip(labels, *columns, strict=True)]
  return text_table(rows)


def text_table(rows):
  """Aligns rows of strings: the first column left, the others right."""
  table = Table(box=None, show_header=False, pad_edge=False)
  for index in range(max(map(len, rows))):
    table.add_column(justify="right" if index else "left", no_wrap=True)
  for row in rows:
    table.add_row(*row)
  console = Console(
    file=io.StringIO(),
    width=1000,
    color_system=None,
    markup=False,
    emoji=False,
  )
  console.print(table)
  lines = console.file.getvalue().splitlines()
  return "\n".join(line.rstrip() for line in lines)
