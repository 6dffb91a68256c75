"""The report of a prediction file, as one HTML page that loads nothing.

Importing this needs the extra "report". The templates escape every text.
"""

import base64
import dataclasses
import hashlib
import importlib.resources
from typing import NamedTuple

import jinja2
import markupsafe
import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.answer_decoder import NO_LOGIT
from bert_span.reporting import calibration_plots, question_results
from bert_span.reporting.passages import CONTROL, result_segments
from bert_span.scoring import reliability
from bert_span.storage.files import encodable

_NO_ANSWER = "(no answer)"
_NUM_ANNOTATORS = 5  # distinct answers shown of a question
# Key of the official scores -> its name on the page.
_TILES = {
  "exact_match": "EM",
  "exact": "EM",
  "f1": "F1",
  "HasAns_exact": "EM, answerable",
  "HasAns_f1": "F1, answerable",
  "NoAns_f1": "F1, unanswerable",
}
_COVERAGES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # shares of the questions
_NUM_TOKENS = 10  # in the table of a window


class WindowProbabilities(NamedTuple):
  """Start and end probabilities of one window: softmax over its positions."""

  number: int  # of the window within its question, from 0
  score: float  # highest start logit + highest end logit of a token
  null: tuple[float, float]  # of [CLS], which means "no answer"
  # (char_start, char_end, start, end) of each token of the passage.
  tokens: list[tuple[int, int, float, float]]


def window_probabilities(logits):
  """`WindowProbabilities` of one question's `WindowLogits`, the best first."""
  windows = []
  for row, char_starts in enumerate(logits.windows["token_char_starts"]):
    is_token = char_starts >= 0
    pair = [logits.logits[name][row] for name in ("start_logits", "end_logits")]
    start, end = (tf.nn.softmax(x.astype(np.float64)).numpy() for x in pair)
    best = [np.max(x, where=is_token, initial=NO_LOGIT) for x in pair]
    columns = (char_starts, logits.windows["token_char_ends"][row], start, end)
    tokens = zip(*(x[is_token].tolist() for x in columns), strict=True)
    windows.append(
      WindowProbabilities(
        int(logits.windows["doc_span_index"][row]),
        float(sum(best)),
        (float(start[0]), float(end[0])),
        list(tokens),
      )
    )
  return sorted(windows, key=lambda window: -window.score)


@dataclasses.dataclass(frozen=True)
class Report:
  """The content of the page."""

  sources: dict[str, str]  # name -> path of what was read
  version_2: bool  # whether questions may be unanswerable
  results: list[question_results.QuestionResult]
  scores: dict  # official scores, in percent
  notes: list[str] = ()  # on problems of the SQuAD file
  num_windows: list[int] | None = None  # of each question
  chosen: question_results.QuestionResult | None = None  # its tokens are shown
  windows: list[WindowProbabilities] = ()  # of the chosen question


def report_page(report, num_errors=50, max_bytes=5_000_000):
  """Renders a report as HTML: (str, number of errors shown).

  If the page is larger than max_bytes in UTF-8, it shows half of the errors,
  and half of these, and so on. ValueError if it is too large without any.
  """
  results, scores = report.results, report.scores
  calibration = _calibration(results)
  tiles = {name: scores[key] for key, name in _TILES.items() if key in scores}
  tiles["Questions"] = len(results)
  if calibration:
    tiles["Calibration error"] = calibration["error"]
  template = _environment().get_template("report.html")
  script = _file("reporting/templates/report.js")
  digest = hashlib.sha256(script.encode("utf-8")).digest()
  confusion = None
  if report.version_2:
    confusion = question_results.no_answer_confusion(results)
  values = {
    "report": report,
    "tiles": tiles,
    "groups": question_results.group_scores(results, report.num_windows),
    "confusion": confusion,
    "calibration": calibration,
    "style": _file("web/base.css") + _file("reporting/templates/report.css"),
    "script": script,
    "script_hash": base64.b64encode(digest).decode(),
  }
  errors = question_results.worst_errors(results, num_errors)
  while True:
    text = template.render(values, errors=errors)
    size = len(text.encode("utf-8"))
    if size <= max_bytes:
      return text, len(errors)
    if not errors:
      raise ValueError(
        f"The report would have {size:,} bytes, more than {max_bytes:,}. Omit "
        "--question_id, or give one with a shorter passage."
      )
    errors = errors[: len(errors) // 2]


def _calibration(results):
  """The section on probabilities, a dict; None without predictions."""
  predicted = [result for result in results if result.probability is not None]
  if not predicted:
    return None
  probability = [result.probability for result in predicted]
  exact = [result.exact for result in predicted]
  bins = reliability.equal_width_bins(probability, exact)
  curve = reliability.risk_coverage(probability, exact)
  figures = (
    calibration_plots.reliability_figure({"model": bins}),
    calibration_plots.risk_coverage_figure({"model": curve}),
  )
  reliability_png, risk_png = map(calibration_plots.png_bytes, figures)
  # The first point at each coverage or beyond; sums of shares are rounded.
  points = np.searchsorted(curve.coverage, np.array(_COVERAGES) - 1e-9)
  return {
    "error": 100.0 * bins.calibration_error,
    "area": curve.area,
    "reliability_png": base64.b64encode(reliability_png).decode(),
    "risk_png": base64.b64encode(risk_png).decode(),
    "bins": [
      (
        f"{100 * bins.lower[i]:.1f} to {100 * bins.upper[i]:.1f} %",
        int(bins.count[i]),
        100.0 * bins.confidence[i],
        100.0 * bins.accuracy[i],
      )
      for i in np.flatnonzero(bins.count)
    ],
    "coverage": [
      (
        f"{100 * curve.coverage[i]:.1f} %",
        100.0 * curve.threshold[i],
        100.0 * curve.risk[i],
      )
      for i in dict.fromkeys(points.tolist())
    ],
  }


def _environment():
  environment = jinja2.Environment(
    loader=jinja2.PackageLoader("bert_span.reporting"),
    autoescape=True,
    finalize=_shown,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
  )
  environment.filters["percent"] = _percent
  environment.globals.update(
    annotators=_annotators,
    error_rows=_error_rows,
    result_segments=result_segments,
    no_answer=_NO_ANSWER,
    token_pieces=_token_pieces,
    token_rows=_token_rows,
  )
  return environment


def _shown(value):
  """The text of a value on the page, before it is escaped."""
  if value is None:
    return "\N{EN DASH}"
  if isinstance(value, (int, float)):
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"
  if isinstance(value, markupsafe.Markup):
    return value
  return CONTROL.sub("\N{REPLACEMENT CHARACTER}", encodable(str(value)))


def _percent(share):
  return "none" if share is None else f"{100 * share:.1f} %"


def _annotators(result):
  """The distinct answers of the annotators, the first few."""
  texts = list(dict.fromkeys(answer.text for answer in result.example.answers))
  left_out = len(texts) - _NUM_ANNOTATORS
  if left_out > 0:
    texts[_NUM_ANNOTATORS:] = [f"and {left_out} more"]
  return texts or [_NO_ANSWER]


def _error_rows(errors):
  return [
    (
      number,
      error.example.question,
      "; ".join(_annotators(error)),
      error.prediction or _NO_ANSWER,
      100.0 * error.f1,
      100.0 * error.probability,
    )
    for number, error in enumerate(errors, start=1)
  ]


def _token_rows(context, window):
  """Rows of (token, character, start and end in percent), the best first."""
  best = sorted(window.tokens, key=lambda token: -max(token[2:]))
  rows = [("[CLS] (no answer)", None, *window.null)]
  for char_start, char_end, *pair in best[:_NUM_TOKENS]:
    rows.append((context[char_start:char_end], char_start, *pair))
  return [(*token, 100.0 * start, 100.0 * end) for *token, start, end in rows]


def _token_pieces(context, window):
  """Yields (text, start, end) of each token and of the text between tokens."""
  reached = window.tokens[0][0]
  for char_start, char_end, start, end in window.tokens:
    yield context[reached:char_start], 0.0, 0.0
    # Several tokens may share a character: "½" gives "1/2".
    yield context[max(char_start, reached) : char_end], start, end
    reached = max(reached, char_end)


def _file(name):
  """A file of ours that the page holds as it is."""
  path = importlib.resources.files("bert_span") / name
  return markupsafe.Markup(path.read_text("utf-8"))
