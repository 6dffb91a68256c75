"""Converts the flat rows of run_qa.py and of Parquet files to SQuAD's format.

    {"data": [{"id": "a", "title": "T", "question": "Who built it?",
               "context": "Anna built it.",
               "answers": {"text": ["Anna"], "answer_start": [0]}}]}

An unanswerable question has empty lists. A row without the key "answers" has no
labels. In the Parquet files of SQuAD on the Hugging Face hub these keys are the
columns; a null counts as a missing key.

Source: huggingface/transformers, examples/pytorch/question-answering.
"""

from bert_span.storage.files import MAX_JSON_BYTES
from bert_span.storage.json_fields import FieldErrors

PARQUET = b"PAR1"  # the first bytes of such a file
# Columns of flat rows, of SQuAD's articles, and of MultiSpanQA.
_ROW_COLUMNS = (
  *("id", "title", "context", "question", "answers"),
  *("is_impossible", "paragraphs", "label"),
)


def parquet_rows(path: str, content: bytes) -> dict:
  """Returns the rows of a Parquet file as the JSON object {"data": [..]}."""
  # tensorflow-datasets installs it; JSON files do not need it.
  import pyarrow
  from pyarrow import parquet

  try:
    file = parquet.ParquetFile(
      pyarrow.BufferReader(content), page_checksum_verification=True
    )
    groups = map(file.metadata.row_group, range(file.num_row_groups))
    size = sum(group.total_byte_size for group in groups)
    names = file.schema_arrow.names
    if "paragraphs" not in names and not {"question", "context"} <= set(names):
      problem = f"its columns are {', '.join(names)}. Name them as SQuAD's: "
      problem += ", ".join(_ROW_COLUMNS[:5])
    elif size > MAX_JSON_BYTES:
      problem = f"its columns have {size:,} bytes. Divide it"
    else:
      columns = [name for name in _ROW_COLUMNS if name in names]
      return {"data": _without_nulls(file.read(columns).to_pylist())}
  except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
    fault = " ".join(str(error).split())
    problem = f"it is damaged ({fault}). Write or download it again"
  raise ValueError(f"{path}: a Parquet file, and {problem}.")


def _without_nulls(value):
  if isinstance(value, dict):
    items = ((key, _without_nulls(entry)) for key, entry in value.items())
    return {key: entry for key, entry in items if entry is not None}
  return list(map(_without_nulls, value)) if isinstance(value, list) else value


def is_flat(top: dict) -> bool:
  """Returns whether a JSON object with the list "data" has flat rows.

  A row without answers is flat if its context is a text. In MultiSpanQA it is a
  list, or a string of one: "['Ada', 'met', ..]".
  """
  first = next(iter(top["data"]), None)
  keys = first.keys() if isinstance(first, dict) else set()
  if {"question", "context"} <= keys and "label" not in keys:
    context = first["context"]
    if isinstance(context, str) and not context.startswith("["):
      return True
  return {"context", "answers"} <= keys


def from_flat_rows(path: str, top: dict) -> dict:
  """Converts flat rows: each becomes an article with one paragraph."""
  errors, articles = FieldErrors(path), []
  for index, row in errors.objects(top["data"], "row", "data"):
    place = f"row {index}"
    question = {key: row[key] for key in ("id", "question") if key in row}
    if "answers" in row:  # Files that are only predicted may have none.
      question |= _answer_keys(row, place, errors)
    context = errors.required(row, "context", str, place)
    paragraphs = [{"context": context, "qas": [question]}]
    articles.append({"title": row.get("title", ""), "paragraphs": paragraphs})
  errors.raise_if_any()
  return {**top, "data": articles}


def _answer_keys(row, place, errors):
  """Returns a row's answers as the keys of a SQuAD question."""
  answers = errors.required(row, "answers", dict, place) or {}
  texts = errors.required(answers, "text", list, place)
  starts = errors.required(answers, "answer_start", list, place)
  if texts is None or starts is None:
    return {}
  if len(texts) != len(starts):
    counts = f"{len(texts)} texts and {len(starts)} starts. Give each one"
    errors.add(place, f"'answers' has {counts}.")
  if not texts:
    return {"is_impossible": True}
  return {
    "answers": [
      {"text": text, "answer_start": start}
      for text, start in zip(texts, starts, strict=False)
    ]
  }
