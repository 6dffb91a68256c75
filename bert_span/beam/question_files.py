"""Files of questions in four formats, checked record by record.

Only a file that cannot be opened is an error.
"""

import dataclasses
import json
import os

import tensorflow as tf
from google.protobuf.message import DecodeError

from bert_span.options.messages import shortened
from bert_span.squad.example import SquadExample
from bert_span.squad.reader import load_squad_json, parse_squad
from bert_span.storage import files
from bert_span.storage.json_fields import FieldErrors, is_kind
from bert_span.storage.record_files import serialized_records

NAMES = ("id", "question", "context")
_ROWS_AT_ONCE = 256
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
  path: str
  number: int  # in the file, from 1: of the line, or the question
  question: int = 0  # number among those asked about the passage


@dataclasses.dataclass(frozen=True)
class BadRecord:
  """A record that is not answered, a dead letter."""

  location: RecordLocation
  reason: str  # a sentence: what is wrong and what to do
  content: str = ""  # the record as text, as far as there is one
  qas_id: str = ""


@dataclasses.dataclass(frozen=True)
class LocatedQuestion:
  location: RecordLocation
  example: SquadExample


@dataclasses.dataclass(frozen=True)
class QuestionFile:
  """A file of questions; its format is a key of `_READERS`."""

  path: str
  format: str


def find_question_files(patterns, format=None):
  """Expands `find_files` to sorted `QuestionFile`s; else endings decide."""
  found = []
  for path in sorted(files.find_files(patterns)):
    ending = os.path.splitext(path)[1]
    if not (format or ending in _FORMAT_OF_ENDING):
      raise ValueError(
        f"{path}: the format of files that end with {ending!r} is unknown. Use "
        f"one of {', '.join(_FORMAT_OF_ENDING)}, or give the format: "
        f"{', '.join(_READERS)}."
      )
    found.append(QuestionFile(path, format or _FORMAT_OF_ENDING[ending]))
  return found


def read_questions(file, questions=()):
  """Yields a `LocatedQuestion` or `BadRecord` for each of a `QuestionFile`.

  `questions` are asked about every passage, instead of the records' own.
  """
  for number, record in _READERS[file.format](file.path):
    location = RecordLocation(file.path, number)
    if isinstance(record, _Unreadable):
      yield BadRecord(location, *record.args)
      continue
    try:
      qas_id, context = _text(record, "id"), _text(record, "context")
      asked = list(questions) or [_text(record, "question")]
    except ValueError as error:
      found = record.get("id") if isinstance(record, dict) else None
      qas_id = "" if found is None else str(found)
      yield BadRecord(location, str(error), content_of(record), qas_id)
      continue
    for index, question in enumerate(asked):
      own_id = f"{qas_id}#{index}" if len(asked) > 1 else qas_id
      yield LocatedQuestion(
        dataclasses.replace(location, question=index),
        SquadExample(own_id, question, context),
      )


def content_of(record):
  """A record as JSON text; bytes and the like as Python shows them."""
  return json.dumps(record, default=repr)


def _text(record, name):
  if not isinstance(record, dict):
    raise ValueError(
      "A record must be an object of id, question and context. Received: "
      f"{type(record).__name__}."
    )
  value = record.get(name)
  if name == "id" and is_kind(value, int):
    return str(value)  # As in real SQuAD files.
  if value is None:
    known = ", ".join(map(repr, list(record)[:8])) or "none"
    raise ValueError(f"{name!r} is missing. Add it; the keys are: {known}.")
  if isinstance(value, bytes):
    value = files.decode_utf8(value, f"{name!r} is", "utf-8")
  if not isinstance(value, str):
    found = type(value).__name__
    raise ValueError(f"{name!r} must be a string, not {found}. Correct it.")
  if name == "id" and not value:
    raise ValueError("'id' is empty. Give each question its own id.")
  return value


# The readers yield (number, record): a dict of id, question and context that
# is not checked, or `_Unreadable`.
class _Unreadable(Exception):
  """Reason and content of a record, or of a part of a file."""


def _damaged(error, what="the rest of the file"):
  return _Unreadable(f"Damaged: {what} ({error}). Write the file again.")


def _read_json_lines(path):
  with files.open_file(path) as file:
    for number, line in enumerate(file, 1):
      if not line.strip():
        continue
      try:
        yield number, files.parse_json(line, "The line")
      except ValueError as error:
        content = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
        yield number, _Unreadable(f"{error} Write one object a line.", content)


def _read_squad(path):
  try:
    top = load_squad_json(path)
  except ValueError as error:
    yield 1, _Unreadable(f"The file cannot be read: {error}")
    return
  parts = (part for article in top["data"] for part in _split(article))
  for number, part in enumerate(parts, 1):
    # Each part is checked alone, so that an error costs one question.
    errors = FieldErrors(path)
    examples, _ = parse_squad({"data": [part]}, errors)
    if errors.count:
      yield number, _Unreadable(" ".join(errors.shown), json.dumps(part))
    else:
      (example,) = examples
      values = (example.qas_id, example.question, example.context)
      yield number, dict(zip(NAMES, values, strict=True))


def _split(record, keys=("paragraphs", "qas")):
  """Articles of one question each; what has no list of them stays whole."""
  entries = record.get(keys[0]) if keys and isinstance(record, dict) else None
  if not isinstance(entries, list):
    yield record
    return
  for entry in entries:
    for part in _split(entry, keys[1:]):
      yield {**record, keys[0]: [part]}


def _read_tfrecord(path):
  dataset = serialized_records(tf.data.Dataset.from_tensors(path))
  number = 0
  try:
    for number, serialized in enumerate(dataset.as_numpy_iterator(), 1):
      try:
        features = tf.train.Example.FromString(serialized).features.feature
      except DecodeError as error:
        reason = f"Not a tf.train.Example: {error}."
        yield number, _Unreadable(reason, shortened(serialized))
        continue
      names = [name for name in NAMES if name in features]
      yield number, {name: _feature_value(features[name]) for name in names}
  except tf.errors.DataLossError as error:
    yield number + 1, _damaged(error.message)


def _feature_value(feature):
  """The single value of a feature, or a list of any other number."""
  for kind in (feature.bytes_list, feature.int64_list, feature.float_list):
    if len(kind.value) == 1:
      return kind.value[0]
  return list(feature.bytes_list.value)


def _read_parquet(path):
  # Apache Beam brings it; the other formats do not need it.
  import pyarrow
  from pyarrow import parquet

  # pyarrow raises an OSError for a damaged page, too.
  damage = (pyarrow.ArrowException, OSError, UnicodeDecodeError)
  files.open_file(path).close()  # raises if there is no such file
  source, number = path, 0
  if files.is_remote(path):
    source = pyarrow.BufferReader(files.read_bytes(path))
  try:
    file = parquet.ParquetFile(source, page_checksum_verification=True)
    names = [name for name in NAMES if name in file.schema_arrow.names]
    groups = range(file.num_row_groups)
    sizes = [file.metadata.row_group(group).num_rows for group in groups]
  except damage as error:
    yield 1, _damaged(error)
    return
  for group, size in enumerate(sizes):
    end = number + size
    try:
      for batch in file.iter_batches(_ROWS_AT_ONCE, [group], names):
        for row in batch.to_pylist():
          number += 1
          yield number, row
    except damage as error:
      rows = f"the rows {number + 1} to {end}"
      yield number + 1, _damaged(error, rows)
    number = end


_READERS = {
  "jsonl": _read_json_lines,
  "squad": _read_squad,
  "tfrecord": _read_tfrecord,
  "parquet": _read_parquet,
}
