"""Official scores as a small table for the terminal."""

_LABEL_WIDTH = 16
_SQUAD2_ROWS = (
  ("", "all"),
  ("HasAns_", "answerable"),
  ("NoAns_", "unanswerable"),
)

_BIO_ROWS = (
  ("tag_cross_entropy", "cross-entropy of the tags, in nats a token:"),
  ("annotator_entropy", "  of which the annotators' entropy is"),
  ("entropy_correlation", "correlation of both entropies:"),
  ("tag_calibration_error", "calibration error of being in an answer:"),
)


_CALIBRATION_ROWS = (
  ("expected_calibration_error", "ECE, equal ranges"),
  ("equal_mass_calibration_error", "ECE, equal counts"),
)


def format_scores(scores):
  """Lays out SQuAD 1.1 or 2.0 scores for reading, without a last newline.

  For SQuAD 2.0 with no-answer scores, for example:

                       exact       f1   questions
    all                81.25    84.02       11873
    answerable         78.10    83.60        5928
    unanswerable       84.39    84.39        5945
    best               81.40    84.11
    best threshold    -1.250   -1.250

  Args:
    scores: the dict of evaluate_squad1 or evaluate_squad2, in percent.

  Returns:
    The table, its lines joined by newlines.

  Raises:
    ValueError: the dict has neither the keys of SQuAD 1.1 nor those of 2.0.
  """
  if "exact_match" in scores:
    return _squad1_table(scores)
  if "exact" in scores:
    return _squad2_table(scores)
  raise ValueError(
    'scores must come from evaluate_squad1 (key "exact_match") or '
    f'evaluate_squad2 (key "exact"). Received keys: {sorted(scores)}.'
  )


def format_bio_scores(scores):
  """Lays out the scores of answers of several spans, without a last newline.

                   precision      recall          f1
  exact match          41.20       38.75       39.94
  partial match        60.31       58.02       59.14
  tag cross-entropy   0.1034

  Args:
    scores: the dict of evaluate_multi_span, in percent, and of
      AnnotatorAgreement.

  Returns:
    The table, its lines joined by newlines.
  """
  lines = [_row("", "precision", "recall", "f1")]
  for name, label in (
    ("exact_match", "exact match"),
    ("overlap", "partial match"),
  ):
    figures = (
      scores[f"{name}_{part}"] for part in ("precision", "recall", "f1")
    )
    lines.append(_row(label, *map(_percent, figures)))
  for name, label in _BIO_ROWS:
    if name in scores:
      lines.append(f"{label} {scores[name]:.4f}")
  return "\n".join(lines)


def format_calibration(before, after):
  """Lays out how far probabilities could be trusted, and how far they can be.

                              before       after
  exact match                  61.20       61.20
  ECE, equal ranges           0.1034      0.0321

  Args:
    before, after: dicts of `calibration_figures`.

  Returns:
    The table, its lines joined by newlines.
  """
  both = (before, after)
  width = 26

  def row(label, cells):
    return label.ljust(width) + "".join(cell.rjust(12) for cell in cells)

  exact = "exact_match" if "exact_match" in before else "exact"
  lines = [row("", ("before", "after"))]
  for name, label in ((exact, "exact match"), ("f1", "f1")):
    lines.append(row(label, [_percent(figures[name]) for figures in both]))
  lines.append(
    row("questions answered", [str(f["num_answered"]) for f in both])
  )
  for name, label in _CALIBRATION_ROWS:
    lines.append(row(label, [f"{figures[name]:.4f}" for figures in both]))
  areas = [f"{figures['risk_coverage'].area:.4f}" for figures in both]
  lines.append(row("area of risk, coverage", areas))
  return "\n".join(lines)


def _squad1_table(scores):
  return "\n".join(
    [
      _row("", "exact match", "f1"),
      _row("all", _percent(scores["exact_match"]), _percent(scores["f1"])),
    ]
  )


def _squad2_table(scores):
  lines = [_row("", "exact", "f1", "questions")]
  for prefix, label in _SQUAD2_ROWS:
    if f"{prefix}exact" in scores:
      lines.append(
        _row(
          label,
          _percent(scores[f"{prefix}exact"]),
          _percent(scores[f"{prefix}f1"]),
          str(scores[f"{prefix}total"]),
        )
      )
  if "best_exact" in scores:
    lines += _best_rows(scores)
  return "\n".join(lines)


def _best_rows(scores):
  """What the best no-answer threshold for each figure would give."""
  return [
    _row("best", _percent(scores["best_exact"]), _percent(scores["best_f1"])),
    _row(
      "best threshold",
      _threshold(scores["best_exact_thresh"]),
      _threshold(scores["best_f1_thresh"]),
    ),
  ]


def _row(label, *cells):
  return label.ljust(_LABEL_WIDTH) + "".join(cell.rjust(12) for cell in cells)


def _percent(value):
  return f"{value:.2f}"


def _threshold(value):
  return f"{value:.3f}"
