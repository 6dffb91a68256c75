"""The report of a prediction file: one page, cut to a size that opens."""

import dataclasses

from bert_span.reporting.calibration_section import (
  Confidence,
  calibration_section,
)
from bert_span.reporting.error_cards import (
  error_card,
  error_table,
  marked_passage,
)
from bert_span.reporting.markup import Section, cut, escaped, note
from bert_span.reporting.page import page
from bert_span.reporting.question_results import QuestionResult
from bert_span.reporting.score_groups import worst_errors
from bert_span.reporting.score_sections import (
  groups_section,
  no_answer_section,
  overview_section,
)
from bert_span.reporting.token_probabilities import WindowProbabilities
from bert_span.reporting.token_view import token_view

MAX_BYTES = 5_000_000
_QUESTION_CHARACTERS = 600
_TITLE = "Answers and errors"


@dataclasses.dataclass(frozen=True)
class Report:
  """What the page tells.

  Attributes:
    sources: dict of what was read, name to path.
    version_2: whether questions may have no answer.
    results: list of `QuestionResult`.
    scores: the official scores, see `score_predictions`.
    num_errors: errors to show at most.
    confidence: `Confidence` of the results, or None.
    plots: (reliability diagram, risk-coverage curve) of it, bytes of PNG.
    num_windows: int [questions], see `groups_section`.
    chosen: the `QuestionResult` whose tokens are shown, or None.
    windows: list of `WindowProbabilities` of that question.
    notes: list of str, what was noticed while reading.
  """

  sources: dict[str, str]
  version_2: bool
  results: list[QuestionResult]
  scores: dict
  num_errors: int
  confidence: Confidence | None = None
  plots: tuple[bytes, bytes] = (b"", b"")
  num_windows: list[int] | None = None
  chosen: QuestionResult | None = None
  windows: list[WindowProbabilities] = ()
  notes: list[str] = ()


def report_page(report, max_bytes=MAX_BYTES):
  """Lays a report out as HTML.

  Where the page would be too large, half of the errors are left out, and again
  until it is not; it says how many it shows.

  Args:
    report: `Report`.
    max_bytes: of the page as UTF-8; less than 5 MB opens everywhere.

  Returns:
    (str of HTML, number of errors shown).

  Raises:
    ValueError: even without errors it is larger.
  """
  errors = worst_errors(report.results, report.num_errors)
  other = _other_sections(report)
  while True:
    text = page(
      _TITLE, _header(report), _in_order(other, _errors(report, errors))
    )
    size = len(text.encode("utf-8"))
    if size <= max_bytes:
      return text, len(errors)
    if not errors:
      raise ValueError(
        f"The report would have {size:,} bytes, more than {max_bytes:,}. Give "
        "no --question_id, or one with a shorter passage."
      )
    errors = errors[: len(errors) // 2]


def _other_sections(report):
  """All sections but that of the errors, which may have to be shortened."""
  confidence = report.confidence
  error = confidence.bins.calibration_error if confidence else None
  sections = [
    overview_section(report.results, report.scores, error),
    groups_section(report.results, report.num_windows),
  ]
  if report.version_2:
    sections.append(no_answer_section(report.results))
  if confidence:
    sections.append(calibration_section(confidence, *report.plots))
  if report.chosen is not None:
    sections.append(_tokens(report.chosen, report.windows))
  return sections


def _in_order(sections, errors):
  """The errors before the tokens of the chosen question, else last."""
  if sections[-1].anchor == "tokens":
    return [*sections[:-1], errors, sections[-1]]
  return [*sections, errors]


def _header(report):
  sources = "".join(
    f"<dt>{escaped(name)}</dt><dd>{escaped(path)}</dd>"
    for name, path in report.sources.items()
  )
  notes = "".join(
    f"<li>{escaped(cut(line, 600))}</li>" for line in report.notes
  )
  if notes:
    notes = (
      f"<details><summary>Notes on the data</summary><ul>{notes}</ul></details>"
    )
  return f"<dl>{sources}</dl>{notes}"


def _errors(report, errors):
  wrong = sum(not result.exact for result in report.results)
  told = note(
    f"{len(errors):,} of {wrong:,} questions without an exact match, by "
    "probability * (1 - F1): the surest and farthest off first. The others are "
    "not shown (--num_errors), nor what stands far from the answers of a long "
    "passage."
  )
  if not errors:
    return Section("errors", "The worst errors", told)
  legend = (
    '<p class="quiet">Marks: <mark class="annotators">annotators</mark> '
    '<mark class="model">model</mark> <mark class="both">both</mark></p>'
  )
  cards = [error_card(i, error) for i, error in enumerate(errors, start=1)]
  return Section(
    "errors",
    "The worst errors",
    "\n".join([told, error_table(errors), legend, *cards]),
  )


def _tokens(result, windows):
  example = result.example
  legend = (
    '<p class="quiet"><span class="key-start"></span>start '
    '<span class="key-end"></span>end: the probability that the answer starts '
    "or ends with a token, among all positions of its window. Tokens below "
    "0.5 % have no bars.</p>"
  )
  question = cut(example.question, _QUESTION_CHARACTERS)
  return Section(
    "tokens",
    "Start and end, token by token",
    "\n".join(
      [
        f'<h3 dir="auto">{escaped(question)}</h3>',
        f'<p class="quiet">Question {escaped(cut(example.qas_id, 200))}</p>',
        f'<p class="passage" dir="auto">{marked_passage(result)}</p>',
        legend,
        token_view(example.context, windows),
      ]
    ),
  )
