"""Answers as rows of JSON lines or Parquet, a question a row.

  id, answer, char_start, char_end, score, probability, null_odds
  n_best   of a span head, for n_best above 1: objects of text, char_start,
           char_end, score, probability, best first
  spans    of a B/I/O head: the same objects, in order of position

"No answer" is "" with offsets null.
"""

import json

from bert_span.storage.atomic_file import open_atomically
from bert_span.storage.utf8 import encodable


def answer_row(example, answer, head, n_best=1):
  """The row of an answer, a dict of JSON values.

  Args:
    example: its `SquadExample`; texts are cut from the passage.
    answer: a prediction of the head, or a `ServedAnswer`.
    head: `AnswerHead`.
    n_best: entries of the n-best list; 1 for no list.
  """
  best = _entry(example.context, answer)
  row = {"id": example.qas_id, "answer": best.pop("text"), **best}
  row["null_odds"] = answer.null_odds
  for name, spans in head.lists_of(answer, n_best).items():
    row[name] = [_entry(example.context, span) for span in spans]
  return row


def write_rows(path, rows, format):
  """Writes rows of answers to a file, whole or not at all.

  Args:
    path: local or any path of tf.io.gfile.
    rows: list of dicts of `answer_row`.
    format: "jsonl" or "parquet".
  """
  if format == "jsonl":
    write_json_lines(path, rows)
    return
  from pyarrow import parquet  # comes with Beam, an extra

  with open_atomically(path, binary=True) as file:
    parquet.write_table(_table(rows), file)


def write_json_lines(path, rows):
  """Writes dicts as JSON lines in ASCII, a file whole or not at all."""
  with open_atomically(path) as file:
    for row in rows:
      file.write(json.dumps(row) + "\n")


def _entry(context, span):
  """A span's fields; offsets None for no answer."""
  is_span = span.char_end > span.char_start
  return {
    "text": context[span.char_start : span.char_end],
    "char_start": span.char_start if is_span else None,
    "char_end": span.char_end if is_span else None,
    "score": span.score,
    "probability": span.probability,
  }


def _table(rows):
  """Rows as a pyarrow table; its columns do not depend on the rows."""
  import pyarrow as pa

  place = [
    ("char_start", pa.int32()),
    ("char_end", pa.int32()),
    ("score", pa.float64()),
    ("probability", pa.float64()),
  ]
  entries = pa.list_(pa.struct([("text", pa.string()), *place]))
  schema = pa.schema(
    [
      *(("id", pa.string()), ("answer", pa.string()), *place),
      *(("null_odds", pa.float64()), ("n_best", entries), ("spans", entries)),
    ]
  )
  return pa.Table.from_pylist([_encodable_row(row) for row in rows], schema)


def _encodable_row(row):
  """A row without lone surrogates, which JSON can hold and Parquet cannot."""

  def clean(value):
    if isinstance(value, list):
      return [_encodable_row(entry) for entry in value]
    return encodable(value) if isinstance(value, str) else value

  return {name: clean(value) for name, value in row.items()}
