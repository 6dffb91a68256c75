"""Answers as a client reads them from a server's outputs."""

from typing import NamedTuple


class ServedSpan(NamedTuple):
  """A span of an answer, or an entry of an n-best list.

  Attributes:
    text: `context[char_start:char_end]`; "" for "no answer".
    char_start, char_end: half-open offsets into the context in characters
      (Unicode code points, as Python counts).
    byte_start, byte_end: the same in bytes of the context as UTF-8.
    score: what answers are compared by.
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
      `ServedSpan`; of a bio head's spans the one with the best score.
    is_answerable: whether there is a span; the threshold that the model was
      exported with decides.
    null_odds: how much rather there is no answer than the best one.
    n_best: tuple of `ServedSpan`, best first. Of a span head, with "no answer"
      among them where the model knows it; of a bio head, its spans.
    spans: tuple of `ServedSpan` in order of position, () for no answer; one at
      most of a span head.
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


# Fields that every head serves once a question, and once a list entry behind
# the prefix of its lists.
_FIELDS = (
  *("char_start", "char_end", "byte_start", "byte_end"),
  *("score", "probability"),
)
_ONCE = ("answer", *_FIELDS, "is_answerable", "null_odds")
# What a head serves besides. The count tells the heads apart.
_N_BEST = ("n_best_answer", *map("n_best_{}".format, _FIELDS))
_N_BEST_IS_SPAN = "n_best_is_answerable"
_N_BEST_COUNT = "n_best_count"
_SPANS = ("span_text", *map("span_{}".format, _FIELDS))
_SPAN_COUNT = "span_count"


def answer_of_row(row):
  """The answer in one row of outputs.

  Args:
    row: dict of output name to a value, or to a list of values.

  Returns:
    A `ServedAnswer`.

  Raises:
    ValueError: the row is not one of the signature serving_default.
  """
  if not isinstance(row, dict):
    raise ValueError(f"expected named outputs, found {type(row).__name__}")
  if _SPAN_COUNT in row:
    return _answer_of_spans(row)
  return _answer_of_n_best(row)


def _answer_of_n_best(row):
  """The answer of a span head."""
  _check_names(row, (*_ONCE, *_N_BEST, _N_BEST_IS_SPAN, _N_BEST_COUNT))
  names = (*_N_BEST, _N_BEST_IS_SPAN)
  n_best = _entries([_list(row, name, _N_BEST_COUNT) for name in names])
  best = _best(row)
  return ServedAnswer(
    *best, row["null_odds"], n_best, (best,) if best.is_answerable else ()
  )


def _answer_of_spans(row):
  """The answer of a bio head."""
  _check_names(row, (*_ONCE, *_SPANS))
  lists = [_list(row, name, _SPAN_COUNT) for name in _SPANS]
  spans = _entries([*lists, [True] * row[_SPAN_COUNT]])
  n_best = tuple(sorted(spans, key=lambda span: -span.score))
  return ServedAnswer(*_best(row), row["null_odds"], n_best, spans)


def _best(row):
  return ServedSpan(
    row["answer"], *(row[name] for name in _FIELDS), row["is_answerable"]
  )


def _entries(lists):
  """A `ServedSpan` of each place of the lists, which are its fields."""
  return tuple(ServedSpan(*values) for values in zip(*lists, strict=True))


def _check_names(row, names):
  missing = [name for name in names if name not in row]
  if missing:
    raise ValueError(
      f"outputs {', '.join(missing)} are missing; there are "
      f"{', '.join(sorted(row)) or 'none'}"
    )


def _list(row, name, count_name):
  """The entries of a list before its padding."""
  count = row[count_name]
  if type(count) is not int or count < 0:
    raise ValueError(f"{count_name} is {count!r} and no number of entries")
  values = row[name]
  if not isinstance(values, list) or len(values) < count:
    raise ValueError(
      f"{name} has not the {count} entries that {count_name} says"
    )
  return values[:count]
