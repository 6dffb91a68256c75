"""Finds what is wrong with a SQuAD file, as far as no vocabulary is needed."""

import dataclasses
import os
import sys

from bert_span.squad.answer_location import NOT_LOCATED, locate_answer
from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.json_file import load_squad_json
from bert_span.squad.lint import findings as kinds
from bert_span.squad.lint.findings import Finding
from bert_span.squad.question_records import question_records
from bert_span.squad.reader import parse_squad, place_in_file
from bert_span.storage import json_fields


@dataclasses.dataclass(frozen=True)
class LintedFile:
  """A file and what was found in it.

  Attributes:
    path: the file.
    findings: list of `Finding`, in the file's order.
    examples: its questions, each answer where it is located or at NOT_LOCATED;
      empty where the structure is wrong.
    json_paths: where each question stands in the file.
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
  """Reads a file and finds everything that is wrong with it.

  Where `read_squad` stops, at a wrong structure or an id used twice, this goes
  on and lists all.

  Args:
    path: a local path, or any path that tf.io.gfile knows.

  Returns:
    A `LintedFile`.

  Raises:
    OSError: the file cannot be read.
  """
  path = os.fspath(path)
  try:
    top = load_squad_json(path)
  except ValueError as error:
    message = str(error).removeprefix(f"{path}: ")
    return LintedFile(path, [Finding(kinds.UNREADABLE, "", message)])
  errors = json_fields.FieldErrors(path, num_shown=sys.maxsize)
  examples, version_2 = parse_squad(top, errors)
  if errors.count:
    findings = [Finding(kinds.STRUCTURE, "", shown) for shown in errors.shown]
    return LintedFile(path, findings)
  return _linted(path, top, examples, version_2)


def first_located(example: SquadExample) -> Answer | None:
  """The answer that training takes: the first that is in the passage."""
  if example.is_impossible:
    return None
  located = (a for a in example.answers if a.char_start != NOT_LOCATED)
  return next(located, None)


def examples_to_learn(examples):
  """The examples, each with the one answer that training takes, or none.

  Args:
    examples: sequence of `SquadExample`, their answers located.

  Returns:
    List of `SquadExample`.
  """
  return [
    dataclasses.replace(example, answers=(answer,) if answer else ())
    for example in examples
    for answer in [first_located(example)]
  ]


def _linted(path, top, examples, version_2):
  """Checks a file whose structure is right."""
  records = list(question_records(top))
  linted = LintedFile(
    path,
    [],
    tuple(map(_located, examples)),
    tuple(record.json_path for record in records),
    version_2,
    len(top["data"]),
    sum(len(article["paragraphs"]) for article in top["data"]),
  )
  findings = linted.findings
  if not examples:
    findings.append(Finding(kinds.NO_QUESTIONS, ""))
  for index, record in enumerate(records):
    if json_fields.is_kind(record.question["id"], int):
      repair = examples[index].qas_id
      findings.append(linted.finding(kinds.INTEGER_ID, index, repair=repair))
    findings += _question_findings(linted, index)
    findings += _answer_findings(linted, index, examples[index], record)
  findings += _duplicate_ids(linted)
  findings += _duplicate_questions(linted)
  return linted


def _located(example):
  """The example with its answers where they are found."""
  return dataclasses.replace(
    example,
    answers=tuple(
      Answer(a.text, _location(example, a).char_start) for a in example.answers
    ),
  )


def _location(example, answer):
  return locate_answer(example.context, answer.text, answer.char_start)


def _question_findings(linted, index):
  """What can be said of a question without looking at others."""
  example = linted.examples[index]
  num_answers = len(example.answers)
  checks = (
    (kinds.BLANK_CONTEXT, not example.context.strip(), ""),
    (kinds.BLANK_QUESTION, not example.question.strip(), ""),
    (kinds.UNANSWERABLE, example.is_impossible, ""),
    (
      kinds.NO_ANSWER,
      not example.is_impossible and not any(example.annotators),
      "",
    ),
    (
      kinds.IMPOSSIBLE_WITH_ANSWERS,
      example.is_impossible and num_answers,
      ", ".join(json_fields.shortened(a.text) for a in example.answers[:3]),
    ),
    (
      kinds.SEVERAL_ANSWERS,
      not example.is_impossible and num_answers > 1,
      f"{num_answers} answers",
    ),
  )
  return [
    linted.finding(kind, index, detail)
    for kind, applies, detail in checks
    if applies
  ]


def _answer_findings(linted, index, example, record):
  """What is wrong with the answers, as they stand in the file."""
  findings = []
  for number, (json_path, _) in enumerate(record.answers()):
    answer = example.answers[number]
    location = _location(example, answer)
    repair = None
    if not answer.text.strip():
      kind = kinds.BLANK_ANSWER
    elif location.char_start == NOT_LOCATED:
      kind = kinds.ANSWER_NOT_LOCATED
    elif location.moved:
      kind, repair = kinds.ANSWER_MOVED, location.char_start
    else:
      continue
    findings.append(
      Finding(
        kind,
        f"{place_in_file(example)}, answer {number}",
        "" if kind is kinds.BLANK_ANSWER else location.detail,
        example.qas_id,
        json_path,
        repair,
      )
    )
  return findings


def _duplicate_ids(linted):
  """Every question whose id an earlier one has."""
  first = {}
  for index, example in enumerate(linted.examples):
    other = first.setdefault(example.qas_id, index)
    if other != index:
      here, there = linted.json_paths[index], linted.json_paths[other]
      asked = json_fields.shortened(linted.examples[other].question)
      yield linted.finding(
        kinds.DUPLICATE_ID,
        index,
        f"{json_fields.shortened(example.question)} at {here}; first used for "
        f"{asked} at {there}",
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
    other = first.setdefault((example.context, asked), index)
    if other != index:
      yield linted.finding(
        kinds.DUPLICATE_QUESTION,
        index,
        f"{json_fields.shortened(example.question)}, as question "
        f"{linted.examples[other].qas_id!r} with "
        f"{_compared(example, linted.examples[other])}",
      )


def _compared(example, other):
  """How the answers of two questions agree, in words."""
  texts, others = (
    {""} if e.is_impossible else {answer.text for answer in e.answers}
    for e in (example, other)
  )
  if texts == others:
    return "the same answers"
  return "some of the same answers" if texts & others else "other answers"
