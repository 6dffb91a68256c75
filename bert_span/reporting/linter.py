"""Finds the faults of a SQuAD file, and repairs two of them.

They are an answer_start whose answer is elsewhere in the passage, and an id
that is an integer. Only these numbers are replaced, in the text of the file. So
all other bytes stay: unknown keys, their order, white space, escapes.
TensorFlow is not needed.
"""

import dataclasses
import itertools
import json
import os
import re
import sys

from bert_span.options.messages import shortened
from bert_span.squad.example import SquadExample
from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.flat_rows import PARQUET, is_flat
from bert_span.squad.multispanqa import is_multispanqa
from bert_span.squad.reader import (
  check_question,
  load_squad_json,
  parse_squad,
  repeated_ids,
)
from bert_span.storage.atomic_file import open_atomically, write_lines
from bert_span.storage.files import is_file, read_bytes, real_path
from bert_span.storage.json_fields import FieldErrors, is_json

_REPAIRED_KEYS = {
  FindingKind.ANSWER_MOVED: "answer_start",
  FindingKind.INTEGER_ID: "id",
}
# A number, or a whole string, so that no digits in it match.
_STRING_OR_NUMBER = re.compile(
  r'"[^"\\]*(?:\\.[^"\\]*)*"|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)'
)


@dataclasses.dataclass(frozen=True)
class LintedFile:
  """A file, its questions and its findings."""

  path: str
  findings: list[Finding]  # in the file's order
  examples: tuple[SquadExample, ...] = ()  # empty if the structure is wrong
  json_paths: tuple[str, ...] = ()  # one for each example
  version_2: bool = False
  num_articles: int = 0
  num_passages: int = 0

  def finding(self, kind, index, detail="", repair=None):
    """Makes a `Finding` about the question at an index of `examples`."""
    example, path = self.examples[index], self.json_paths[index]
    return Finding(kind, example.place, detail, example.qas_id, path, repair)


def lint_squad_file(path: str | os.PathLike) -> LintedFile:
  """Lists all findings about a file; `read_squad` may stop at the first."""
  path = os.fspath(path)
  try:
    top = load_squad_json(path)
  except ValueError as error:
    message = str(error).removeprefix(f"{path}: ")
    return LintedFile(path, [Finding(FindingKind.UNREADABLE, "", message)])
  errors = FieldErrors(path, num_shown=sys.maxsize)
  parsed, version_2 = parse_squad(top, errors)
  if errors.count:
    findings = [Finding(FindingKind.STRUCTURE, "", m) for m in errors.shown]
    return LintedFile(path, findings)
  checked = [check_question(example) for example in parsed]
  records = [
    (f"data[{i}].paragraphs[{j}].qas[{k}]", question["id"])
    for i, article in enumerate(top["data"])
    for j, paragraph in enumerate(article["paragraphs"])
    for k, question in enumerate(paragraph["qas"])
  ]
  linted = LintedFile(
    path,
    findings=[],
    examples=tuple(example for example, _ in checked),
    json_paths=tuple(json_path for json_path, _ in records),
    version_2=version_2,
    num_articles=len(top["data"]),
    num_passages=sum(len(article["paragraphs"]) for article in top["data"]),
  )
  add = linted.findings.append
  if not parsed:
    add(Finding(FindingKind.NO_QUESTIONS, ""))
  for index, example in enumerate(parsed):
    if is_json(records[index][1], int):
      add(linted.finding(FindingKind.INTEGER_ID, index, repair=example.qas_id))
    # Findings about the question's labels in the file.
    if example.is_impossible:
      add(linted.finding(FindingKind.UNANSWERABLE, index))
    elif not any(example.annotators):
      add(linted.finding(FindingKind.NO_ANSWER, index))
    elif len(example.answers) > 1:
      detail = f"{len(example.answers)} answers"
      add(linted.finding(FindingKind.SEVERAL_ANSWERS, index, detail))
    for finding in checked[index][1]:
      json_path = linted.json_paths[index] + finding.json_path
      add(dataclasses.replace(finding, json_path=json_path))
  for first, index in repeated_ids(parsed):
    here, there = (
      f"{shortened(parsed[i].question)} at {linted.json_paths[i]}"
      for i in (index, first)
    )
    detail = f"{here}; first used for {there}"
    add(linted.finding(FindingKind.DUPLICATE_ID, index, detail))
  linted.findings.extend(_duplicate_questions(linted))
  return linted


def _duplicate_questions(linted):
  """Yields repeated questions about a passage, in any case and spacing."""
  first = {}
  for index, example in enumerate(linted.examples):
    question = " ".join(example.question.split()).casefold()
    earlier = first.setdefault((example.context, question), example)
    if not question or earlier is example:
      continue
    texts, earlier_texts = (
      {""} if e.is_impossible else {answer.text for answer in e.answers}
      for e in (example, earlier)
    )
    compared = "some of the same" if texts & earlier_texts else "other"
    compared = "the same" if texts == earlier_texts else compared
    detail = f"as question {earlier.qas_id!r} with {compared} answers"
    detail = f"{shortened(example.question)}, {detail}"
    yield linted.finding(FindingKind.DUPLICATE_QUESTION, index, detail)


def repair_squad_file(linted, output_file, log_file):
  """Writes a repaired copy of a `LintedFile` and a log; returns the changes.

  Raises ValueError if the file is in MultiSpanQA's format, run_qa.py's or
  Parquet, or if it would be replaced, or a file that is no such copy.
  """
  for path in (output_file, log_file):
    if real_path(path) == real_path(linted.path):
      raise ValueError(f"{path} is the input. Give another output_file.")
  content = read_bytes(linted.path)
  if content.startswith(PARQUET):
    raise ValueError(f"{linted.path}: Parquet is not repaired. Omit `fix`.")
  text = content.decode("utf-8")
  try:
    repaired, changes = repair_squad_text(text, linted.findings)
  except ValueError as error:
    raise ValueError(f"{linted.path}: {error}") from error
  content = repaired.encode("utf-8")
  # Somebody may have corrected the copy by hand.
  if is_file(output_file) and read_bytes(output_file) != content:
    raise ValueError(
      f"{output_file} exists and is another file than `fix` would write. "
      "Remove it, or give another output_file."
    )
  with open_atomically(output_file, binary=True) as file:
    file.write(content)
  # The log of an earlier repair stays if nothing is left to repair.
  if changes or not is_file(log_file):
    write_lines(log_file, map(json.dumps, changes))
  return changes


def repair_squad_text(text, findings):
  """Returns the text of a file with the repairs of findings, and the changes.

  A change is a dict of path, question_id, kind, before and after.
  """
  integers = []  # all in the text, in order: json calls `ordinal` for each

  def ordinal(digits):
    integers.append(int(digits))
    return len(integers) - 1

  top = json.loads(text.removeprefix("\ufeff"), parse_int=ordinal)
  if is_flat(top) or is_multispanqa(top):
    owner = "run_qa.py" if is_flat(top) else "MultiSpanQA"
    raise ValueError(f"{owner}'s format is not repaired. Omit `fix`.")
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
        "before": integers[record[key]],
        "after": finding.repair,
      }
    )
    replacements[record[key]] = json.dumps(finding.repair)
  ordinals = itertools.count()

  def replaced(match):
    digits = match[1]
    if digits is None or not digits.removeprefix("-").isdecimal():
      return match[0]  # a string, or a number that becomes a float
    return replacements.get(next(ordinals), match[0])

  return _STRING_OR_NUMBER.sub(replaced, text), changes
