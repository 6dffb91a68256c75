"""Reads files of questions, JSON lines or Parquet, and checks each record.

Only a file that cannot be opened is an error.
"""

import dataclasses
import json
import os

from bert_span.squad.example import SquadExample
from bert_span.storage import files
from bert_span.storage.json_fields import is_json

_NAMES = ("id", "question", "context")
_ROWS_AT_ONCE = 256


@dataclasses.dataclass(frozen=True, order=True)
class RecordLocation:
  path: str
  number: int  # of the line or row in the file, from 1
  question: int = 0  # number among the questions about the passage


@dataclasses.dataclass(frozen=True)
class BadRecord:
  """A record that is not answered, a dead letter."""

  location: RecordLocation
  reason: str  # sentences: the fault and the remedy
  content: str = ""  # the record as text, if it has one
  qas_id: str = ""


@dataclasses.dataclass(frozen=True)
class LocatedQuestion:
  location: RecordLocation
  example: SquadExample

  def refused(self, reason):
    """Returns the question as a `BadRecord`."""
    qas_id, question = self.example.qas_id, self.example.question
    record = {
      "id": qas_id,
      "question": question,
      "context": self.example.context,
    }
    return BadRecord(self.location, reason, json.dumps(record), qas_id)


@dataclasses.dataclass(frozen=True)
class QuestionFile:
  """A file of questions; its format is a key of `_READERS`."""

  path: str
  format: str


def find_question_files(patterns, format=None):
  """Returns the sorted `QuestionFile`s of paths and globs.

  `format` None takes the format of each path's ending.
  """
  question_files = []
  for path in sorted(files.find_files(patterns)):
    ending = os.path.splitext(path)[1]
    file_format = format or {".ndjson": "jsonl"}.get(ending, ending[1:])
    if file_format not in _READERS:
      raise ValueError(
        f"{path}: the format must be one of {', '.join(_READERS)}, as "
        f"input_format or by the ending. Received: {format or ending!r}. "
        "Convert the file to JSON lines of id, question and context."
      )
    question_files.append(QuestionFile(path, file_format))
  return question_files


def read_questions(file, questions=()):
  """Yields a `LocatedQuestion` or `BadRecord` for each record of a file.

  `questions` are asked about every passage, instead of the records' questions.
  """
  for number, record in _READERS[file.format](file.path):
    if isinstance(record, BadRecord):
      yield record
      continue
    location = RecordLocation(file.path, number)
    try:
      qas_id, context = _text_of(record, "id"), _text_of(record, "context")
      rows = [{"question": question} for question in questions] or [record]
      texts = [_text_of(row, "question") for row in rows]
    except ValueError as error:
      qas_id = record.get("id") if isinstance(record, dict) else None
      # Beam passes strings on as UTF-8.
      qas_id = "" if qas_id is None else files.encodable(str(qas_id))
      # Values that JSON lacks, such as bytes, as Python shows them.
      content = json.dumps(record, default=repr)
      yield BadRecord(location, str(error), content, qas_id)
      continue
    for index, question in enumerate(texts):
      question_id = f"{qas_id}#{index}" if len(texts) > 1 else qas_id
      yield LocatedQuestion(
        dataclasses.replace(location, question=index),
        SquadExample(question_id, question, context),
      )


def _text_of(record, name):
  if not isinstance(record, dict):
    raise ValueError(
      "A record must be an object of id, question and context. Received: "
      f"{type(record).__name__}."
    )
  value = record.get(name)
  if name == "id" and is_json(value, int):
    return str(value)  # Real SQuAD files have integers.
  if value is None:
    known = ", ".join(map(repr, list(record)[:8])) or "none"
    raise ValueError(f"{name!r} is missing. Add it; the keys are: {known}.")
  if isinstance(value, bytes):  # a binary column
    value = files.decode_utf8(value, f"{name!r} is", "utf-8")
  if not isinstance(value, str):
    received = type(value).__name__
    raise ValueError(f"{name!r} must be a string, not {received}. Correct it.")
  if value != files.encodable(value):
    raise ValueError(
      f"{name!r} has half a character (a lone surrogate, such as \\ud800), "
      "which no text file can hold. Write the whole character."
    )
  if name == "id" and not value:
    raise ValueError("'id' is empty. Give each question an id.")
  return value


# The readers yield (number, record). A record is a `BadRecord`, or should be a
# dict of id, question and context.
def _read_json_lines(path):
  with files.open_file(path) as file:
    for number, line in enumerate(file, 1):
      if not line.strip():
        continue
      try:
        yield number, files.parse_json(line, "The line")
      except ValueError as error:
        location = RecordLocation(path, number)
        content = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
        reason = f"{error} Write one object a line."
        yield number, BadRecord(location, reason, content)


def _read_parquet(path):
  # Apache Beam installs it; JSON lines do not need it.
  import pyarrow
  from pyarrow import parquet

  def damaged(number, subject, error):
    reason = f"Damaged: {subject} ({error}). Write the file again."
    return number, BadRecord(RecordLocation(path, number), reason)

  # pyarrow raises an OSError for a damaged page, too.
  damage = (pyarrow.ArrowException, OSError, UnicodeDecodeError)
  files.open_file(path).close()  # Raises if the file does not exist.
  source, number = path, 0
  if files.is_remote(path):
    source = pyarrow.BufferReader(files.read_bytes(path))
  try:
    file = parquet.ParquetFile(source, page_checksum_verification=True)
    names = [name for name in _NAMES if name in file.schema_arrow.names]
    groups = range(file.num_row_groups)
    sizes = [file.metadata.row_group(group).num_rows for group in groups]
  except damage as error:
    yield damaged(1, "the file", error)
    return
  for group, size in enumerate(sizes):
    end = number + size
    try:
      for batch in file.iter_batches(_ROWS_AT_ONCE, [group], names):
        for row in batch.to_pylist():
          number += 1
          yield number, row
    except damage as error:
      first = number + 1
      yield damaged(first, f"the rows {first} to {end}", error)
    number = end


_READERS = {"jsonl": _read_json_lines, "parquet": _read_parquet}
