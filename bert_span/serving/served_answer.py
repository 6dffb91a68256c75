"""Answers as a client reads them from a server's outputs."""

from typing import NamedTuple

# Outputs of the signature serving_default -> fields of a ServedAnswer; those
# of the n-best list have the same names behind "n_best_".
_SPAN_FIELDS = {
  "text": "answer",
  "char_start": "char_start",
  "char_end": "char_end",
  "byte_start": "byte_start",
  "byte_end": "byte_end",
  "score": "score",
  "probability": "probability",
  "is_answerable": "is_answerable",
}
_COUNT = "n_best_count"
_NULL_ODDS = "null_odds"


class ServedSpan(NamedTuple):
  """An entry of an n-best list: `context[char_start:char_end]`.

  Attributes:
    text: the characters; "" for "no answer".
    char_start, char_end: half-open offsets into the context in characters
      (Unicode code points, as Python counts).
    byte_start, byte_end: the same in bytes of the context as UTF-8.
    score: what answers are compared by.
    probability: see `SpanDecoder`.
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
      `ServedSpan`.
    is_answerable: whether the answer is a span; the threshold that the model
      was exported with decides.
    null_odds: score of "no answer" less the best span's.
    n_best: tuple of `ServedSpan`, best first, "no answer" among them where the
      model knows it.
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


def output_names():
  """Names of the outputs that a `ServedAnswer` is made of."""
  spans = _SPAN_FIELDS.values()
  return [*spans, *map("n_best_{}".format, spans), _NULL_ODDS, _COUNT]


def answer_of_row(row):
  """The answer in one row of outputs.

  Args:
    row: dict of output name to a value, or to a list for n-best outputs.

  Returns:
    A `ServedAnswer`.

  Raises:
    ValueError: the row is not one of the signature serving_default.
  """
  if not isinstance(row, dict):
    raise ValueError(f"expected named outputs, found {type(row).__name__}")
  missing = [name for name in output_names() if name not in row]
  if missing:
    raise ValueError(
      f"outputs {', '.join(missing)} are missing; there are "
      f"{', '.join(sorted(row)) or 'none'}"
    )
  lists = {field: row[f"n_best_{name}"] for field, name in _SPAN_FIELDS.items()}
  _check_lists(lists, row[_COUNT])
  return ServedAnswer(
    **{field: row[name] for field, name in _SPAN_FIELDS.items()},
    null_odds=row[_NULL_ODDS],
    n_best=tuple(
      ServedSpan(**{field: values[i] for field, values in lists.items()})
      for i in range(row[_COUNT])
    ),
  )


def _check_lists(lists, count):
  """Whether every list holds `count` entries before its padding."""
  if type(count) is not int or count < 0:
    raise ValueError(f"{_COUNT} is {count!r} and no number of entries")
  for field, values in lists.items():
    if not isinstance(values, list) or len(values) < count:
      raise ValueError(
        f"n_best_{_SPAN_FIELDS[field]} has not the {count} entries that "
        f"{_COUNT} says"
      )
