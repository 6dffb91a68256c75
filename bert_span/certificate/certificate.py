"""All points of the comparison with the original, and the table of them."""

import dataclasses
import functools
from typing import NamedTuple

from bert_span.certificate import configurations
from bert_span.certificate.decoding_checks import (
  check_decoding,
  check_null_odds,
)
from bert_span.certificate.edge_checks import (
  check_edge_answers,
  check_edge_training,
)
from bert_span.certificate.model_checks import check_model
from bert_span.certificate.optimizer_checks import check_optimizer
from bert_span.certificate.score_checks import check_scores
from bert_span.certificate.token_checks import check_tokens
from bert_span.certificate.window_checks import check_windows


class Point(NamedTuple):
  """One thing that must be the original's.

  Attributes:
    number: in the certificate.
    title: what it is.
    run: function of `GoldenFiles` to a list of `Check`.
  """

  number: int
  title: str
  run: object


@dataclasses.dataclass(frozen=True)
class Difference:
  """Something that the original does otherwise, by choice.

  Attributes:
    original: what it does.
    here: what is done here by default.
    flag: what makes this package do as the original, or as its paper.
  """

  original: str
  here: str
  flag: str


DIFFERENCES = (
  Difference(
    'the word "empty" for a question without a possible span',
    "no answer",
    "--no_span=original",
  ),
  Difference(
    "an exception for such a question with --version_2_with_negative",
    "no answer, null odds 1e6",
    "--no_span=original",
  ),
  Difference(
    "windows without the answer trained as null answers, against a comment",
    "the same",
    "--drop_answerless_windows leaves them out",
  ),
  Difference(
    "Adam without bias correction",
    "the same",
    "--adam_bias_correction corrects it",
  ),
  Difference(
    "gradients clipped by a norm that does not sum the word embeddings' rows "
    "of a repeated token",
    "the gradient's norm",
    "--clip_by_unsummed_embeddings",
  ),
  Difference(
    "learning rate of the step count before or after the step, by a race",
    "always before",
    "--learning_rate_after_step",
  ),
  Difference(
    "all windows padded to max_seq_length",
    "batches of similar length, padded to a multiple of 32",
    "--length_buckets=none",
  ),
)


def points():
  """The points of the certificate, in order.

  Returns:
    List of `Point`.
  """
  real, edge = configurations.REAL, configurations.EDGE
  decoded = [c for c in real if not c.is_training]
  return [
    Point(1, "Tokenization", check_tokens),
    Point(
      2,
      "Windows and labels",
      functools.partial(check_windows, configurations=real),
    ),
    Point(3, "Model function, loss, training", check_model),
    Point(4, "Optimizer", check_optimizer),
    Point(5, "Decoding", functools.partial(_each, check_decoding, decoded)),
    Point(6, "Metrics", check_scores),
    Point(
      7,
      "Null odds",
      functools.partial(
        _each, check_null_odds, [c for c in decoded if c.version_2]
      ),
    ),
    Point(8, "Edge cases", functools.partial(check_edge_cases, edge)),
  ]


def check_edge_cases(edge, goldens):
  """Windows, decoding and lost questions of the edge-case files.

  Args:
    edge: of `Configuration`.
    goldens: `GoldenFiles`.

  Returns:
    List of `Check`.
  """
  decoded = [c for c in edge if not c.is_training]
  return [
    *check_windows(goldens, edge),
    *_each(check_decoding, decoded, goldens),
    *_each(check_null_odds, [c for c in decoded if c.version_2], goldens),
    *check_edge_training(goldens, edge),
    *check_edge_answers(goldens, edge),
  ]


def _each(check, chosen, goldens):
  return [c for configuration in chosen for c in check(goldens, configuration)]


def format_certificate(results):
  """The table and the notes.

  Args:
    results: list of (`Point`, list of `Check`).

  Returns:
    str of several lines.
  """
  rows = [("", "", "cases", "equal", "largest difference", "limit", "verdict")]
  for point, checks in results:
    verdict = "holds" if point_holds(checks) else "FALLS"
    rows.append((str(point.number), point.title, "", "", "", "", verdict))
    rows += [("", f"  {check.name}", *_figures(check)) for check in checks]
  lines = [_line(row, _widths(rows)) for row in rows]
  for point, checks in results:
    lines += _notes(point, checks)
  lines += ["", "What differs from the original by choice, and its flag"]
  lines += [f"  {d.original}: here {d.here}; {d.flag}" for d in DIFFERENCES]
  return "\n".join(line.rstrip() for line in lines) + "\n"


def point_holds(checks):
  """Whether a point was checked at all, and every check of it holds."""
  return bool(checks) and all(check.holds for check in checks)


def _figures(check):
  numbers = ("", "")
  if check.limit is not None:
    numbers = (f"{check.largest_difference:.1e}", f"{check.limit:g}")
  elif check.max_unequal:
    numbers = ("", f"{check.max_unequal:,} explained")
  verdict = "holds" if check.holds else "FALLS"
  return (f"{check.cases:,}", f"{check.equal:,}", *numbers, verdict)


def _widths(rows):
  return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _line(row, widths):
  """Text to the left, numbers to the right."""
  cells = [
    cell.rjust(width) if 2 <= i <= 5 else cell.ljust(width)
    for i, (cell, width) in enumerate(zip(row, widths, strict=True))
  ]
  return "  ".join(cells)


def _notes(point, checks):
  notes = [note for check in checks for note in check.notes]
  failures = [
    f"FALLS {check.name}: {failure}"
    for check in checks
    for failure in check.failures
  ]
  if not notes and not failures:
    return []
  return ["", f"Point {point.number}", *(f"  {s}" for s in failures + notes)]
