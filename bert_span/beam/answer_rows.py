"""Rows of answers in files, a question a row: JSON lines or Parquet.

  id, answer, char_start, char_end, score, probability, null_odds
  n_best   of a span head, for n_best above 1: objects of text, char_start,
           char_end, score, probability, best first
  spans    of a B/I/O head: the same objects, in order of position

"No answer" is "" with offsets null. `AnswerColumns.answer_row` makes them.
"""

import json

from bert_span.extractors.columns import ROW_COLUMNS
from bert_span.storage.atomic_file import open_atomically, write_lines
from bert_span.storage.files import encodable


def write_rows(path, rows, format):
  """Writes a whole file of rows, "jsonl" in ASCII or "parquet"."""
  if format == "jsonl":
    write_lines(path, map(json.dumps, rows))
    return
  import pyarrow as pa  # comes with Beam, an extra
  from pyarrow import parquet

  # Scores are float64 in predictions.
  types = {"string": "string", "int32": "int32", "float32": "float64"}
  span = [(c.attribute, pa.type_for_alias(types[c.type])) for c in ROW_COLUMNS]
  entries = pa.list_(pa.struct(span))
  # The columns do not depend on the rows.
  schema = pa.schema(
    [
      ("id", pa.string()),
      *(("answer" if name == "text" else name, kind) for name, kind in span),
      ("null_odds", pa.float64()),
      ("n_best", entries),
      ("spans", entries),
    ]
  )
  # JSON can hold lone surrogates, Parquet cannot.
  text = encodable(json.dumps(list(rows), ensure_ascii=False))
  table = pa.Table.from_pylist(json.loads(text), schema)
  with open_atomically(path, binary=True) as file:
    parquet.write_table(table, file)
