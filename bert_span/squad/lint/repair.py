"""Repairs a SQuAD file where no information can be lost by it.

Two things are repaired: an answer_start whose answer is found elsewhere in the
passage, and an id that is an integer. Only these numbers are replaced, in the
text of the file itself. So every other byte stays: unknown keys, their order,
white space, escapes.
"""

import json
import os
import re

from bert_span.squad.findings import FindingKind
from bert_span.squad.multispanqa import is_multispanqa
from bert_span.storage.atomic_file import (
  open_atomically,
  write_text_atomically,
)
from bert_span.storage.files import read_bytes

_REPAIRED_KEYS = {
  FindingKind.ANSWER_MOVED: "answer_start",
  FindingKind.INTEGER_ID: "id",
}
_BYTE_ORDER_MARK = "\ufeff"
# A whole string, so that digits in it are no numbers; or a number.
_STRING_OR_NUMBER = re.compile(
  r'"[^"\\]*(?:\\.[^"\\]*)*"|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)'
)


def repair_squad_file(linted, output_file, log_file):
  """Writes a repaired copy of a `LintedFile`, and a log with a change a line.

  Returns the changes, see `repair_squad_text`.

  Raises:
    ValueError: the file is in MultiSpanQA's format, or would be replaced.
  """
  for path in (output_file, log_file):
    if os.path.realpath(path) == os.path.realpath(linted.path):
      raise ValueError(
        f"{path} is the input, which would be replaced. Give another "
        "--output_file."
      )
  text = read_bytes(linted.path).decode("utf-8")
  try:
    repaired, changes = repair_squad_text(text, linted.findings)
  except ValueError as error:
    raise ValueError(f"{linted.path}: {error}") from error
  with open_atomically(output_file, binary=True) as file:
    file.write(repaired.encode("utf-8"))
  # The log of an earlier repair stays when nothing is left to repair.
  if changes or not os.path.exists(log_file):
    lines = (json.dumps(change) + "\n" for change in changes)
    write_text_atomically(log_file, "".join(lines))
  return changes


def repair_squad_text(text, findings):
  """Returns the repaired text of a linted file, and a list of the changes.

  A change is a dict of path, question_id, kind, before and after.
  """
  top = _parse_numbered(text)
  if is_multispanqa(top):
    raise ValueError(
      "--fix repairs files in SQuAD's format, and this is MultiSpanQA's. Leave "
      "--fix out."
    )
  changes, replacements = [], {}
  for finding in findings:
    if finding.repair is None:
      continue
    key = _REPAIRED_KEYS[finding.kind]
    record = top
    for step in re.findall(r"[^.\[\]]+", finding.json_path):
      record = record[int(step) if isinstance(record, list) else step]
    changes.append(
      {
        "path": f"{finding.json_path}.{key}",
        "question_id": finding.qas_id,
        "kind": finding.kind.name.lower(),
        "before": int(record[key]),
        "after": finding.repair,
      }
    )
    replacements[record[key].ordinal] = json.dumps(finding.repair)
  return _replace_integers(text, replacements), changes


class _NumberedInteger(int):
  """An integer that knows how many integers precede it in the text."""

  ordinal: int


def _parse_numbered(text):
  """Parses JSON; json calls the hook once per integer, in the text's order."""
  count = 0

  def numbered(digits):
    nonlocal count
    value = _NumberedInteger(digits)
    value.ordinal = count
    count += 1
    return value

  return json.loads(text.removeprefix(_BYTE_ORDER_MARK), parse_int=numbered)


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
