"""Files of questions in four formats, checked record by record.

  jsonl     a JSON object a line: id, question, context
  squad     SQuAD JSON, 1.1 or 2.0
  tfrecord  tf.train.Example with the bytes features id, question, context
  parquet   columns id, question, context

Answers in the files are ignored. A record that cannot be read becomes a
`BadRecord` with the reason, and the others are read; only a file that cannot be
opened is an error.
"""

import dataclasses
import json

from bert_span.beam import raw_question_records
from bert_span.squad.example import SquadExample
from bert_span.storage.files import find_files

_FORMAT_OF_ENDING = {
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".json": "squad",
  ".tfrecord": "tfrecord",
  ".tfrecords": "tfrecord",
  ".parquet": "parquet",
}


@dataclasses.dataclass(frozen=True, order=True)
class RecordLocation:
  """The location of a record; locations have an order across files."""

  path: str
  number: int  # in the file, from 1: of the line, or the question
  question: int = 0  # number among those asked about the passage


@dataclasses.dataclass(frozen=True)
class BadRecord:
  """A record that is not answered."""

  location: RecordLocation
  reason: str  # a sentence: what is wrong and what to do
  content: str = ""  # the record as text, as far as there is one
  qas_id: str = ""


@dataclasses.dataclass(frozen=True)
class LocatedQuestion:
  """A question to answer: a `SquadExample` without answers."""

  location: RecordLocation
  example: SquadExample


@dataclasses.dataclass(frozen=True)
class QuestionFile:
  """A file of questions; its format is one of those above."""

  path: str
  format: str


def find_question_files(patterns, format=None):
  """Expands paths and globs to `QuestionFile`s, each path once, sorted.

  Args:
    patterns: see `find_files`.
    format: of all files; None for the format of each file's ending.
  """
  return [
    QuestionFile(path, format or _format_of(path))
    for path in sorted(find_files(patterns))
  ]


def read_questions(file, questions=()):
  """Reads the questions of a file.

  Args:
    file: `QuestionFile`.
    questions: asked about every passage, instead of the records' own. With
      several, "#0", "#1", .. are appended to the ids of the records.

  Yields:
    `LocatedQuestion` or `BadRecord`, in the file's order.
  """
  read = raw_question_records.READERS[file.format]
  for number, record in read(file.path):
    location = RecordLocation(file.path, number)
    if isinstance(record, raw_question_records.Unreadable):
      yield BadRecord(location, record.reason, record.content)
    else:
      yield from _questions_of(location, record, questions)


def content_of(record):
  """A record as JSON text; bytes and the like as Python shows them."""
  return json.dumps(record, default=repr)


def _questions_of(location, record, questions):
  """Yields the questions of one record, or one `BadRecord`."""
  try:
    qas_id, context = _id(record), _text(record, "context")
    asked = list(questions) or [_text(record, "question")]
  except ValueError as error:
    found = record.get("id") if isinstance(record, dict) else None
    qas_id = "" if found is None else str(found)
    yield BadRecord(location, str(error), content_of(record), qas_id)
    return
  for number, question in enumerate(asked):
    own_id = f"{qas_id}#{number}" if len(asked) > 1 else qas_id
    yield LocatedQuestion(
      dataclasses.replace(location, question=number),
      SquadExample(own_id, question, context),
    )


def _format_of(path):
  ending = path[path.rfind(".") :] if "." in path else ""
  if ending not in _FORMAT_OF_ENDING:
    raise ValueError(
      f"{path}: the format of files that end with {ending!r} is unknown. Use "
      f"one of {', '.join(_FORMAT_OF_ENDING)}, or give the format: "
      f"{', '.join(raw_question_records.READERS)}."
    )
  return _FORMAT_OF_ENDING[ending]


def _id(record):
  if not isinstance(record, dict):
    raise ValueError(
      "A record must be an object of id, question and context. Received: "
      f"{type(record).__name__}."
    )
  value = record.get("id")
  if isinstance(value, int) and not isinstance(value, bool):
    return str(value)  # As in real SQuAD files.
  text = _text(record, "id")
  if not text:
    raise ValueError("'id' is empty. Give each question its own id.")
  return text


def _text(record, name):
  value = record.get(name)
  if value is None:
    known = ", ".join(map(repr, list(record)[:8])) or "none"
    raise ValueError(f"{name!r} is missing. Add it; the keys are: {known}.")
  if isinstance(value, bytes):
    try:
      value = value.decode("utf-8")
    except UnicodeDecodeError as error:
      raise ValueError(
        f"{name!r} is not UTF-8: byte 0x{value[error.start]:02x} at offset "
        f"{error.start} bytes. Convert it."
      ) from error
  if not isinstance(value, str):
    raise ValueError(
      f"{name!r} must be a string. Received: {type(value).__name__}. Correct "
      "its type."
    )
  return value
