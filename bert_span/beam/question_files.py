"""Files of questions in four forms, read record by record.

  jsonl     a JSON object a line: id, question, context
  squad     SQuAD JSON, 1.1 or 2.0
  tfrecord  tf.train.Example with the bytes features id, question, context
  parquet   columns id, question, context

The answers are what is wanted, so none are read. A record that cannot be read
is given as a `BadRecord` with the reason, and the others go on; only a file
that is not there at all is an error. Where every passage is asked the same, the
records need no question.
"""

import dataclasses
import json

from bert_span.beam import raw_question_records
from bert_span.squad.example import SquadExample
from bert_span.storage.files import find_files

FORMS = ("jsonl", "squad", "tfrecord", "parquet")
_FORM_OF_ENDING = {
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".json": "squad",
  ".tfrecord": "tfrecord",
  ".tfrecords": "tfrecord",
  ".parquet": "parquet",
}


@dataclasses.dataclass(frozen=True, order=True)
class RecordPlace:
  """Where a record stands; places of all files have an order.

  Attributes:
    path: the file.
    number: of the record in its file, from 1; lines of JSON lines, questions
      of SQuAD JSON.
    question: number among the questions asked of a passage, from 0.
  """

  path: str
  number: int
  question: int = 0


@dataclasses.dataclass(frozen=True)
class BadRecord:
  """A record that is not answered.

  Attributes:
    place: `RecordPlace`.
    reason: what is wrong and what to do, a sentence.
    content: the record as text, as far as there is one.
    qas_id: its id; "" where it has none.
  """

  place: RecordPlace
  reason: str
  content: str = ""
  qas_id: str = ""


@dataclasses.dataclass(frozen=True)
class PlacedQuestion:
  """A question to answer.

  Attributes:
    place: `RecordPlace`.
    example: `SquadExample` without answers.
  """

  place: RecordPlace
  example: SquadExample


@dataclasses.dataclass(frozen=True)
class QuestionFile:
  """A file of questions.

  Attributes:
    path: local or any path of tf.io.gfile.
    form: one of FORMS.
  """

  path: str
  form: str


def find_question_files(patterns, form=None):
  """Expands paths and globs.

  Args:
    patterns: str, paths and globs, separated by commas.
    form: one of FORMS; None tells it by each file's ending.

  Returns:
    List of `QuestionFile`, each path once, sorted.

  Raises:
    ValueError: a pattern matches nothing, or an ending is not known.
  """
  paths = sorted(find_files(patterns))
  return [QuestionFile(path, form or _form_of(path)) for path in paths]


def read_questions(file, questions=()):
  """Reads the questions of a file.

  Args:
    file: `QuestionFile`.
    questions: asked of every passage, instead of the records' own. Of several
      the ids are the record's with "#0", "#1", .. behind.

  Yields:
    `PlacedQuestion` or `BadRecord`, in the file's order.

  Raises:
    OSError, tf.errors.OpError: the file cannot be read at all.
  """
  reader = raw_question_records.READERS[file.form]
  for number, record in reader(file.path):
    place = RecordPlace(file.path, number)
    if isinstance(record, raw_question_records.Unreadable):
      yield BadRecord(place, record.reason, record.content)
    else:
      yield from questions_of(place, record, questions)


def questions_of(place, record, questions=()):
  """The questions of one record.

  Args:
    place: `RecordPlace`.
    record: dict of id, question, context; anything else is a bad record.
    questions: see `read_questions`.

  Yields:
    `PlacedQuestion`, or one `BadRecord`.
  """
  try:
    qas_id, context = _id(record), _text(record, "context")
    asked = list(questions) or [_text(record, "question")]
  except ValueError as error:
    found = record.get("id") if isinstance(record, dict) else None
    yield BadRecord(
      place, str(error), content_of(record), "" if found is None else str(found)
    )
    return
  for number, question in enumerate(asked):
    own_id = f"{qas_id}#{number}" if len(asked) > 1 else qas_id
    yield PlacedQuestion(
      dataclasses.replace(place, question=number),
      SquadExample(own_id, question, context),
    )


def content_of(record):
  """A record as JSON text; bytes and the like as Python shows them."""
  return json.dumps(record, default=repr)


def _form_of(path):
  ending = path[path.rfind(".") :] if "." in path else ""
  if ending not in _FORM_OF_ENDING:
    raise ValueError(
      f"{path}: the ending {ending!r} does not tell what is in the file. Name "
      f"it with one of {', '.join(_FORM_OF_ENDING)}, or give the form: "
      f"{', '.join(FORMS)}."
    )
  return _FORM_OF_ENDING[ending]


def _id(record):
  if not isinstance(record, dict):
    raise ValueError(
      f"A record must be an object of id, question and context. Received: "
      f"{type(record).__name__}."
    )
  value = record.get("id")
  if isinstance(value, int) and not isinstance(value, bool):
    return str(value)  # As in real SQuAD files.
  return _text(record, "id")


def _text(record, name):
  value = record.get(name)
  if value is None:
    known = ", ".join(map(repr, list(record)[:8])) or "none"
    raise ValueError(f"{name!r} is missing. Add it; there are: {known}.")
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
  if name == "id" and not value:
    raise ValueError("'id' is empty. Give each question an id of its own.")
  return value
