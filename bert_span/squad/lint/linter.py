"""Finds what is wrong with a SQuAD file; TensorFlow is not needed."""

import dataclasses
import os
import sys

from bert_span.squad.example import SquadExample
from bert_span.squad.findings import Finding, FindingKind
from bert_span.squad.json_file import load_squad_json, question_records
from bert_span.squad.reader import check_question, parse_squad, place_in_file
from bert_span.storage.json_fields import FieldErrors, is_kind, shortened


@dataclasses.dataclass(frozen=True)
class LintedFile:
  """A file and what was found in it.

  Attributes:
    path: the file.
    findings: list of `Finding`, in the file's order.
    examples: its questions, answers at their offset or NOT_LOCATED; empty where
      the structure is wrong.
    json_paths: where each question is in the file.
    version_2: whether this is SQuAD 2.0's format.
    num_articles: articles in the file.
    num_passages: paragraphs in the file.
  """

  path: str
  findings: list[Finding]
  examples: tuple[SquadExample, ...] = ()
  json_paths: tuple[str, ...] = ()
  version_2: bool = False
  num_articles: int = 0
  num_passages: int = 0

  def finding(self, kind, index, detail="", repair=None):
    """A `Finding` about the question at an index of `examples`."""
    example = self.examples[index]
    return Finding(
      kind,
      place_in_file(example),
      detail,
      example.qas_id,
      self.json_paths[index],
      repair,
    )


def lint_squad_file(path: str | os.PathLike) -> LintedFile:
  """Reads a file and lists everything that is wrong with it.

  `read_squad` stops at a wrong structure or an id used twice.
  """
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
  records = list(question_records(top))
  linted = LintedFile(
    path,
    [],
    tuple(example for example, _ in checked),
    tuple(record.json_path for record in records),
    version_2,
    len(top["data"]),
    sum(len(article["paragraphs"]) for article in top["data"]),
  )
  if not parsed:
    linted.findings.append(Finding(FindingKind.NO_QUESTIONS, ""))
  for index, (_, findings) in enumerate(checked):
    if is_kind(records[index].question["id"], int):
      repair = parsed[index].qas_id
      linted.findings.append(
        linted.finding(FindingKind.INTEGER_ID, index, repair=repair)
      )
    linted.findings.extend(_label_findings(linted, index, parsed[index]))
    for finding in findings:
      json_path = linted.json_paths[index] + finding.json_path
      linted.findings.append(dataclasses.replace(finding, json_path=json_path))
  linted.findings.extend(_duplicate_ids(linted))
  linted.findings.extend(_duplicate_questions(linted))
  return linted


def _label_findings(linted, index, example):
  """What kind of question it is, by its labels in the file."""
  if example.is_impossible:
    yield linted.finding(FindingKind.UNANSWERABLE, index)
  elif not any(example.annotators):
    yield linted.finding(FindingKind.NO_ANSWER, index)
  elif len(example.answers) > 1:
    detail = f"{len(example.answers)} answers"
    yield linted.finding(FindingKind.SEVERAL_ANSWERS, index, detail)


def _duplicate_ids(linted):
  """Every question whose id an earlier one has."""
  first = {}
  for index, example in enumerate(linted.examples):
    other = first.setdefault(example.qas_id, index)
    if other != index:
      here, there = linted.json_paths[index], linted.json_paths[other]
      yield linted.finding(
        FindingKind.DUPLICATE_ID,
        index,
        f"{shortened(example.question)} at {here}; first used for "
        f"{shortened(linted.examples[other].question)} at {there}",
      )


def _duplicate_questions(linted):
  """Every question that was asked about the same passage before.

  Case and the width of white space make no difference.
  """
  first = {}
  for index, example in enumerate(linted.examples):
    asked = " ".join(example.question.split()).casefold()
    if not asked:
      continue
    other = linted.examples[first.setdefault((example.context, asked), index)]
    if other is example:
      continue
    texts, others = (
      {""} if e.is_impossible else {answer.text for answer in e.answers}
      for e in (example, other)
    )
    if texts == others:
      compared = "the same answers"
    else:
      compared = "some of the same" if texts & others else "other"
      compared += " answers"
    yield linted.finding(
      FindingKind.DUPLICATE_QUESTION,
      index,
      f"{shortened(example.question)}, as question {other.qas_id!r} with "
      f"{compared}",
    )
