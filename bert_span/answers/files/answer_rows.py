"""Answers as rows of JSON lines or Parquet, a question a row.

  id, answer, char_start, char_end, score, probability, null_odds
  n_best   of a span head, where several answers are asked for: objects of text,
           char_start, char_end, score, probability, best first
  spans    of a B/I/O head: the same objects, in order of position

"No answer" is "" with offsets null.
"""

import json

from bert_span.storage.atomic_file import open_atomically
from bert_span.storage.utf8 import encodable

JSON_LINES, PARQUET = "jsonl", "parquet"
_ENTRY = ("text", "char_start", "char_end", "score", "probability")


def answer_row(example, answer, head, n_best=1):
  """The row of an answer.

  Args:
    example: its `SquadExample`; texts are cut from the passage.
    answer: a prediction of the head, or a `ServedAnswer`.
    head: `AnswerHead`.
    n_best: entries of the n-best list; 1 leaves the list out.

  Returns:
    Dict of JSON values.
  """
  best = _entry(example.context, answer)
  row = {"id": example.qas_id, "answer": best.pop("text"), **best}
  row["null_odds"] = answer.null_odds
  for name, spans in head.lists_of(answer, n_best).items():
    row[name] = [_entry(example.context, span) for span in spans]
  return row


def write_rows(path, rows, form):
  """Writes rows of answers to a file that is whole or not there.

  Args:
    path: local or any path of tf.io.gfile.
    rows: list of dicts of `answer_row`.
    form: "jsonl" or "parquet".
  """
  if form == JSON_LINES:
    write_json_lines(path, rows)
    return
  from pyarrow import parquet

  with open_atomically(path, binary=True) as file:
    parquet.write_table(_table(rows), file)


def write_json_lines(path, rows):
  """Writes JSON lines in ASCII to a file that is whole or not there.

  Args:
    path: local or any path of tf.io.gfile.
    rows: iterable of dicts.
  """
  with open_atomically(path) as file:
    for row in rows:
      file.write(json.dumps(row) + "\n")


def _entry(context, span):
  """A span's fields; offsets None where there is no answer."""
  is_span = span.char_end > span.char_start
  return {
    "text": context[span.char_start : span.char_end],
    "char_start": span.char_start if is_span else None,
    "char_end": span.char_end if is_span else None,
    "score": span.score,
    "probability": span.probability,
  }


def _table(rows):
  """Rows as a pyarrow table, its columns the same whatever the rows hold."""
  import pyarrow as pa

  types = {
    "text": pa.string(),
    "char_start": pa.int32(),
    "char_end": pa.int32(),
    "score": pa.float64(),
    "probability": pa.float64(),
  }
  entries = pa.list_(pa.struct([(name, types[name]) for name in _ENTRY]))
  schema = pa.schema(
    [
      *(("id", pa.string()), ("answer", pa.string())),
      *((name, types[name]) for name in _ENTRY[1:]),
      *(("null_odds", pa.float64()), ("n_best", entries), ("spans", entries)),
    ]
  )
  return pa.Table.from_pylist([_encodable_row(row) for row in rows], schema)


def _encodable_row(row):
  """A row without lone surrogates, which JSON can hold and Parquet cannot."""
  return {
    name: [_encodable_row(entry) for entry in value]
    if isinstance(value, list)
    else encodable(value)
    if isinstance(value, str)
    else value
    for name, value in row.items()
  }
