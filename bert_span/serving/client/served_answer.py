"""Answers as a client reads them from a server's outputs."""

from typing import NamedTuple


class ServedSpan(NamedTuple):
  """A span of an answer, or an entry of an n-best list.

  Attributes:
    text: `context[char_start:char_end]`; "" for "no answer".
    char_start, char_end: half-open offsets into the context in characters
      (Unicode code points, as Python counts).
    byte_start, byte_end: the same in bytes of the context as UTF-8.
    score: answers are compared by it.
    probability: see `SpanDecoder` and `BioDecoder`.
    is_answerable: whether it is a span and not "no answer".
  """

  text: str
  char_start: int
  char_end: int
  byte_start: int
  byte_end: int
  score: float
  probability: float
  is_answerable: bool


class ServedAnswer(NamedTuple):
  """The answer to one question.

  Attributes:
    text, char_start, char_end, byte_start, byte_end, score, probability: see
      `ServedSpan`; of a bio head the span with the best score.
    is_answerable: whether there is a span; the threshold that the model was
      exported with decides.
    null_odds: how much more likely "no answer" is than the best span.
    n_best: tuple of `ServedSpan`, best first. Of a span head, with "no answer"
      among them where the model knows it; of a bio head, its spans.
    spans: tuple of `ServedSpan` in order of position, () for no answer; at
      most one of a span head.
  """

  text: str
  char_start: int
  char_end: int
  byte_start: int
  byte_end: int
  score: float
  probability: float
  is_answerable: bool
  null_odds: float
  n_best: tuple
  spans: tuple


# Columns that every head serves: once a question, and with a prefix as lists.
_FIELDS = (
  *("char_start", "char_end", "byte_start", "byte_end"),
  *("score", "probability"),
)
_BEST = ("answer", *_FIELDS, "is_answerable")
_N_BEST = tuple(f"n_best_{name}" for name in _BEST)
_SPANS = ("span_text", *(f"span_{name}" for name in _FIELDS))


def answer_of_row(row):
  """The `ServedAnswer` in one row of outputs of serving_default.

  Raises:
    ValueError: the row is not one of bert_span's exports.
  """
  if not isinstance(row, dict):
    raise ValueError(f"expected named outputs, found {type(row).__name__}")
  is_bio = "span_count" in row
  count_name = "span_count" if is_bio else "n_best_count"
  lists = _SPANS if is_bio else _N_BEST
  names = (*_BEST, "null_odds", *lists, count_name)
  missing = [name for name in names if name not in row]
  if missing:
    raise ValueError(
      f"outputs {', '.join(missing)} are missing; there are "
      f"{', '.join(sorted(row)) or 'none'}"
    )
  best = ServedSpan(*(row[name] for name in _BEST))
  columns = [_entries(row, name, count_name) for name in lists]
  if is_bio:
    columns.append([True] * row[count_name])
  entries = tuple(ServedSpan(*values) for values in zip(*columns, strict=True))
  if is_bio:
    n_best = tuple(sorted(entries, key=lambda span: -span.score))
    return ServedAnswer(*best, row["null_odds"], n_best, entries)
  spans = (best,) if best.is_answerable else ()
  return ServedAnswer(*best, row["null_odds"], entries, spans)


def rows_of_columns(columns):
  """Yields the rows of a dict of columns, lists, as dicts; decodes bytes."""
  columns = {name: _decoded(values) for name, values in columns.items()}
  for values in zip(*columns.values(), strict=True):
    yield dict(zip(columns, values, strict=True))


def _entries(row, name, count_name):
  """The entries of a list without its padding."""
  count = row[count_name]
  if type(count) is not int or count < 0:
    raise ValueError(f"{count_name} is {count!r} and no number of entries")
  values = row[name]
  if not isinstance(values, list) or len(values) < count:
    raise ValueError(f"{name} has fewer entries than {count_name}, {count}")
  return values[:count]


def _decoded(value):
  if isinstance(value, list):
    return [_decoded(entry) for entry in value]
  return value.decode("utf-8") if isinstance(value, bytes) else value
