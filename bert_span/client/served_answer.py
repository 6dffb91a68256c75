"""Reads answers from a server's outputs."""

import dataclasses

from bert_span.answers.answer import Answer
from bert_span.answers.columns import SPAN_COLUMNS, TABLES, Use
from bert_span.options.messages import shortened
from bert_span.storage.files import encodable

_TYPES = {
  "string": [str],
  "bool": [bool],
  "int32": [int],
  "float32": [int, float],
}


@dataclasses.dataclass(unsafe_hash=True)
class ServedAnswer(Answer):
  """An `Answer` of a server, also with offsets in bytes.

  They are half-open offsets into the passage in UTF-8.
  """

  byte_start: int = 0
  byte_end: int = 0


def prediction_of_row(row, context, qas_id=""):
  """Returns the `Prediction` of one row of outputs of serving_default.

  Its answers are `ServedAnswer`s. Raises ValueError if the row is not from an
  export of bert_span.
  """
  if not isinstance(row, dict):
    raise ValueError(f"expected named outputs, received {type(row).__name__}")
  table = next((t for t in TABLES if t.count.name in row), SPAN_COLUMNS)
  missing = [c.name for c in table.served if c.name not in row]
  if missing:
    raise ValueError(
      f"outputs {', '.join(missing)} are missing; there are "
      f"{', '.join(sorted(row)) or 'none'}"
    )
  count = _checked_value(table.count, row[table.count.name])
  best = {c.field: _checked_value(c, row[c.name]) for c in table.question}
  entries = [{} for _ in range(count)]
  for column in table.entry:
    if Use.SERVED in column.uses:
      values = row[column.name]
      if not isinstance(values, list) or len(values) < count:
        raise ValueError(
          f"{column.name} has fewer entries than {table.count.name}, {count}"
        )
      for entry, value in zip(entries, values[:count], strict=True):
        entry[column.field] = _checked_value(column, value)
  for span in (best, *entries):
    text, start, end = span["text"], span["char_start"], span["char_end"]
    if text != encodable(context[start:end]):
      raise ValueError(
        f"{shortened(text)} is not in the passage from character {start} to "
        f"{end}"
      )
    if span.get("is_answerable", True) != bool(text):
      raise ValueError(f"is_answerable is wrong for {shortened(text)}")
  columns = {c.name: [row[c.name]] for c in table.served}
  (prediction,) = table.predictions([qas_id], [context], columns, ServedAnswer)
  return prediction


def _checked_value(column, value):
  """Returns a value of a `Column`; ValueError if it cannot be an answer's."""
  is_valid = type(value) in _TYPES[column.dtype] and value == value  # not NaN
  if column.dtype == "int32":
    is_valid = is_valid and value >= 0
  if column.field == "probability":
    is_valid = is_valid and 0 <= value <= 1.001  # above 1 by rounding
  if not is_valid:
    raise ValueError(f"{column.name} is {shortened(value)}")
  return value
