"""Repairs a SQuAD file where no information can be lost by it.

Two things are repaired: an answer_start whose answer `locate_answer` finds
elsewhere, and an id that is an integer. Only these numbers are replaced, in the
text of the file itself. So every other byte stays: unknown keys, their order,
white space, escapes.
"""

import json
import os
import re
from typing import NamedTuple

from bert_span.squad.answer_location import NOT_LOCATED, locate_answer
from bert_span.squad.lint import findings
from bert_span.squad.question_records import question_records
from bert_span.storage.atomic_file import (
  open_atomically,
  write_text_atomically,
)
from bert_span.storage.files import read_bytes
from bert_span.storage.json_fields import is_kind

_BYTE_ORDER_MARK = "\ufeff"
# A string as a whole, so that digits in it are no numbers; or a number.
_STRING_OR_NUMBER = re.compile(
  r'"[^"\\]*(?:\\.[^"\\]*)*"|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)'
)


class Change(NamedTuple):
  """One replaced value.

  Attributes:
    json_path: such as "data[0].paragraphs[2].qas[1].answers[0].answer_start".
    qas_id: the question's id, as a string.
    kind: name of the `FindingKind` that is repaired.
    before, after: the values.
  """

  json_path: str
  qas_id: str
  kind: str
  before: int
  after: int | str


def repair_squad_file(
  path: str | os.PathLike,
  output_file: str | os.PathLike,
  log_file: str | os.PathLike,
) -> list[Change]:
  """Writes a repaired copy of a file, and what was changed.

  Args:
    path: a SQuAD file whose structure is right.
    output_file: gets the copy; may be `path`.
    log_file: gets one JSON object a line: path, question_id, kind, before,
      after.

  Returns:
    The changes, in the file's order.

  Raises:
    OSError: a file cannot be read or written.
  """
  text = read_bytes(os.fspath(path)).decode("utf-8")
  repaired, changes = repair_squad_text(text)
  with open_atomically(output_file, binary=True) as file:
    file.write(repaired.encode("utf-8"))
  write_text_atomically(log_file, "".join(map(_log_line, changes)))
  return changes


def repair_squad_text(text: str) -> tuple[str, list[Change]]:
  """Repairs the text of a file.

  Args:
    text: JSON of the right structure, a byte order mark allowed.

  Returns:
    The repaired text and the changes, in the file's order.
  """
  top = _parse_numbered(text)
  changes, replacements = [], {}
  for number, change in _repairs(top):
    changes.append(change._replace(before=int(number)))
    replacements[number.ordinal] = json.dumps(change.after)
  return _replace_integers(text, replacements), changes


class _NumberedInteger(int):
  """An integer that knows how many stand before it in the text."""

  ordinal: int


def _parse_numbered(text):
  """Parses JSON; json calls the hook once an integer, in the text's order."""
  count = 0

  def numbered(digits):
    nonlocal count
    value = _NumberedInteger(digits)
    value.ordinal = count
    count += 1
    return value

  return json.loads(text.removeprefix(_BYTE_ORDER_MARK), parse_int=numbered)


def _repairs(top):
  """Yields (integer of the text, `Change`)."""
  for record in question_records(top):
    qas_id = record.question["id"]
    if is_kind(qas_id, int):
      yield (
        qas_id,
        Change(
          f"{record.json_path}.id",
          str(qas_id),
          findings.INTEGER_ID.name,
          qas_id,
          str(qas_id),
        ),
      )
    for json_path, answer in record.answers():
      stated = answer["answer_start"]
      location = locate_answer(
        record.paragraph["context"], answer["text"], stated
      )
      if location.char_start != NOT_LOCATED and location.moved:
        yield (
          stated,
          Change(
            f"{json_path}.answer_start",
            str(qas_id),
            findings.ANSWER_MOVED.name,
            stated,
            location.char_start,
          ),
        )


def _replace_integers(text, replacements):
  """Replaces integers of JSON text by their ordinals."""
  ordinal = -1

  def replaced(match):
    nonlocal ordinal
    digits = match[1]
    if digits is None or not digits.removeprefix("-").isdecimal():
      return match[0]  # a string, or a number that json makes a float
    ordinal += 1
    return replacements.get(ordinal, match[0])

  return _STRING_OR_NUMBER.sub(replaced, text)


def _log_line(change):
  row = {
    "path": change.json_path,
    "question_id": change.qas_id,
    "kind": change.kind,
    "before": change.before,
    "after": change.after,
  }
  return json.dumps(row) + "\n"
