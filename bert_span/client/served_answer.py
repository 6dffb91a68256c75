"""Answers as a client reads them from a server's outputs."""

import collections
from typing import NamedTuple

from bert_span.answers.columns import SPAN_COLUMNS, TABLES, Use
from bert_span.options.messages import shortened


class ServedSpan(NamedTuple):
  """A span of an answer, or an entry of an n-best list.

  Offsets are half-open: in characters (Unicode code points, as Python counts),
  and in bytes of the context as UTF-8.
  """

  text: str  # context[char_start:char_end]; "" for "no answer"
  char_start: int
  char_end: int
  byte_start: int
  byte_end: int
  score: float  # answers are compared by it
  probability: float  # see `SpanDecoder` and `BioDecoder`
  is_answerable: bool  # whether it is a span and not "no answer"


_ANSWER = (
  *ServedSpan._fields,
  *("null_odds", "n_best", "spans", "question_truncated"),
)
_TYPES = {
  "string": [str],
  "bool": [bool],
  "int32": [int],
  "float32": [int, float],
}


class ServedAnswer(collections.namedtuple("ServedAnswer", _ANSWER)):
  """The answer to one question: a `ServedSpan` with its alternatives.

  With a B/I/O head the fields describe the best span.

  Attributes:
    is_answerable: whether there is a span; the threshold that the model was
      exported with decides.
    null_odds: how much more likely "no answer" is than the best span.
    n_best: tuple of `ServedSpan`, best first. A span head has "no answer"
      among them if the model knows it; a B/I/O head has its spans.
    spans: tuple of `ServedSpan` in order of position, () for no answer; a span
      head has at most one.
    question_truncated: whether the end of the question was not read, as it was
      longer than max_query_length.
  """


def answer_of_row(row, context):
  """Returns the `ServedAnswer` in one row of outputs of serving_default.

  Raises ValueError if the row is not of an export of bert_span.
  """
  if not isinstance(row, dict):
    raise ValueError(f"expected named outputs, found {type(row).__name__}")
  table = next((t for t in TABLES if t.count.name in row), SPAN_COLUMNS)
  missing = [c.name for c in table.served if c.name not in row]
  if missing:
    raise ValueError(
      f"outputs {', '.join(missing)} are missing; there are "
      f"{', '.join(sorted(row)) or 'none'}"
    )
  best = {c.field: _checked(c, row[c.name]) for c in table.question}
  count = _checked(table.count, row[table.count.name])
  null_odds, is_cut = best.pop("null_odds"), best.pop("question_truncated")
  best = ServedSpan(**best)
  lists = {"is_answerable": [True] * count}
  for column in table.entry:
    if Use.SERVED in column.uses:
      values = row[column.name]
      if not isinstance(values, list) or len(values) < count:
        raise ValueError(
          f"{column.name} has fewer entries than {table.count.name}, {count}"
        )
      # Padding follows the entries.
      lists[column.field] = [_checked(column, x) for x in values[:count]]
  rows = zip(*lists.values(), strict=True)
  entries = tuple(
    ServedSpan(**dict(zip(lists, row, strict=True))) for row in rows
  )
  for span in (best, *entries):
    if span.text != context[span.char_start : span.char_end]:
      raise ValueError(
        f"{shortened(span.text)} is not in the passage from character "
        f"{span.char_start} to {span.char_end}"
      )
  if table.entries == "spans":
    n_best = tuple(sorted(entries, key=lambda span: -span.score))
    return ServedAnswer(*best, null_odds, n_best, entries, is_cut)
  spans = (best,) if best.is_answerable else ()
  return ServedAnswer(*best, null_odds, entries, spans, is_cut)


def _checked(column, value):
  """Returns a value of a `Column`; ValueError if no decoder returns it."""
  is_valid = type(value) in _TYPES[column.dtype] and value == value  # not NaN
  if column.dtype == "int32":
    is_valid = is_valid and value >= 0
  if column.field == "probability":
    is_valid = is_valid and 0 <= value <= 1.001  # above 1 by rounding
  if not is_valid:
    raise ValueError(f"{column.name} is {shortened(value)}")
  return value
