"""SQuAD 1.1 and 2.0 files to examples.

What would make two people read a file differently (a missing key, a wrong type,
an id used twice) is an error, and all such errors of a file are told at once.
What leaves a question usable is counted in the report, with the first places.
"""

import dataclasses
import os

from bert_span.squad import notices
from bert_span.squad.answer_location import NOT_LOCATED, locate_answer
from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.json_file import load_squad_json
from bert_span.squad.read_report import ReadReport
from bert_span.storage import json_fields


@dataclasses.dataclass(frozen=True)
class SquadFile:
  """The questions of one file or TFDS split, in its order.

  Attributes:
    path: where they are from, for messages.
    examples: every question, none left out.
    version_2: whether this is SQuAD 2.0's format: some question says whether it
      is_impossible, or the file's version starts with "v2".
    report: what was counted; preparing the examples adds to it.
  """

  path: str
  examples: tuple[SquadExample, ...]
  version_2: bool
  report: ReadReport = dataclasses.field(default_factory=ReadReport)


def read_squad(path: str | os.PathLike) -> SquadFile:
  """Reads a SQuAD file.

  Contexts stay exactly as in the file, lone surrogates included, so that
  offsets count its characters. Integer ids become strings. Answers are
  optional (prediction needs none); "plausible_answers" and unknown keys are
  ignored. An answer that cannot be located keeps its text, for scoring, with
  char_start -1.

  Where annotators marked several spans, a question says so by "annotations": a
  list of annotators, each a list of spans like "answers", empty for an
  annotator who found none. MultiSpanQA's files are read as they are.

  Args:
    path: a local path, or any path that tf.io.gfile knows.

  Returns:
    The file's questions, with the report of what was repaired.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is no SQuAD file; names the file and up to 10 errors with
      article, question id and remedy.
  """
  path = os.fspath(path)
  errors = json_fields.FieldErrors(path)
  examples, version_2 = parse_squad(load_squad_json(path), errors)
  errors.raise_if_any()
  return make_squad_file(path, examples, version_2)


def parse_squad(
  top: dict, errors: json_fields.FieldErrors
) -> tuple[list[SquadExample], bool]:
  """Reads the questions of a parsed file, answers as they stand there.

  Args:
    top: what `load_squad_json` gives.
    errors: gets everything that is wrong with the structure; the examples are
      whole only where nothing is.

  Returns:
    The examples, in the file's order, and whether this is SQuAD 2.0's format.
  """
  parser = _Parser(errors)
  for index, article in json_fields.records(
    top["data"], "article", "data", errors
  ):
    parser.read_article(index, article)
  version = str(top.get("version"))
  return parser.examples, parser.has_impossible_key or version.startswith("v2")


def make_squad_file(
  path: str, examples: list[SquadExample], version_2: bool
) -> SquadFile:
  """Checks and repairs examples from anywhere.

  Args:
    path: their source, for messages.
    examples: with answers wherever their source says they are.
    version_2: whether the source is in SQuAD 2.0's format.

  Returns:
    The SquadFile: answers located or marked char_start -1, notices counted.

  Raises:
    ValueError: there is no question, or an id occurs twice.
  """
  if not examples:
    raise ValueError(
      f"{path}: there is no question in it. Check that 'data' has articles, "
      "they have 'paragraphs' and those have 'qas'."
    )
  _check_unique_ids(path, examples)
  report = ReadReport()
  located = tuple(_located(path, example, report) for example in examples)
  return SquadFile(path, located, version_2, report)


def place_of(path: str, example: SquadExample) -> str:
  """File, article and question id of an example, for messages."""
  return f"{path}: {place_in_file(example)}"


def place_in_file(example: SquadExample) -> str:
  """Article and question id of an example, for messages."""
  article = f"article {example.title!r}, " if example.title else ""
  return f"{article}question {example.qas_id!r}"


class _Parser:
  """Walks articles, paragraphs and questions; collects examples and errors."""

  def __init__(self, errors):
    self.errors = errors
    self.examples = []
    self.has_impossible_key = False

  def read_article(self, index, article):
    title = json_fields.optional(
      article, "title", str, f"article {index}", self.errors, ""
    )
    place = f"article {title!r}" if title else f"article {index}"
    paragraphs = json_fields.required(
      article, "paragraphs", list, place, self.errors
    )
    for number, paragraph in json_fields.records(
      paragraphs or [], "paragraph", place, self.errors
    ):
      where = f"{place}, paragraph {number}"
      self._read_paragraph(paragraph, title or "", where)

  def _read_paragraph(self, paragraph, title, place):
    context = json_fields.required(
      paragraph, "context", str, place, self.errors
    )
    qas = json_fields.required(paragraph, "qas", list, place, self.errors)
    for number, question in json_fields.records(
      qas or [], "question", place, self.errors
    ):
      where = f"{place}, question {number}"
      if "id" in question:
        shown_id = json_fields.shortened(question["id"])
        where = f"{place}, question {shown_id}"
      self._read_question(question, context or "", title, where)

  def _read_question(self, question, context, title, place):
    qas_id = self._read_id(question, place)
    text = json_fields.required(question, "question", str, place, self.errors)
    self.has_impossible_key |= "is_impossible" in question
    is_impossible = json_fields.optional(
      question, "is_impossible", bool, place, self.errors, False
    )
    answers = json_fields.optional(
      question, "answers", list, place, self.errors, []
    )
    answers = [
      self._read_answer(answer, f"{place}, answer {number}")
      for number, answer in json_fields.records(
        answers or [], "answer", place, self.errors
      )
    ]
    annotations = self._read_annotations(question, place)
    if not self.errors.count:
      self.examples.append(
        SquadExample(
          qas_id,
          text,
          context,
          tuple(answers),
          is_impossible,
          title,
          annotations,
        )
      )

  def _read_annotations(self, question, place):
    """The spans of each annotator."""
    annotators = json_fields.optional(
      question, "annotations", list, place, self.errors, []
    )
    annotations = []
    for number, spans in enumerate(annotators or []):
      where = f"{place}, annotator {number}"
      if not isinstance(spans, list):
        self.errors.add(
          where,
          "must be a list of spans, [] for no answer, received "
          f"{json_fields.shortened(spans)}. Correct its type.",
        )
        continue
      annotations.append(
        tuple(
          self._read_answer(span, f"{where}, span {index}")
          for index, span in json_fields.records(
            spans, "span", where, self.errors
          )
        )
      )
    return tuple(annotations)

  def _read_id(self, question, place):
    if json_fields.is_kind(question.get("id"), int):
      return str(question["id"])  # As found in real files.
    return json_fields.required(question, "id", str, place, self.errors)

  def _read_answer(self, answer, place):
    text = json_fields.required(answer, "text", str, place, self.errors)
    char_start = json_fields.required(
      answer, "answer_start", int, place, self.errors
    )
    return Answer(text, char_start)


def _check_unique_ids(path, examples):
  """Refuses ids used twice: predictions.json would lose one of the two."""
  errors = json_fields.FieldErrors(path)
  first = {}
  for number, example in enumerate(examples):
    if example.qas_id in first:
      other = first[example.qas_id]
      errors.add(
        f"question id {example.qas_id!r}",
        f"used twice, by question number {other} "
        f"({_described(examples[other])}) and number {number} "
        f"({_described(example)}), counted from 0. Predictions are keyed by "
        "id: rename or remove one.",
      )
    first.setdefault(example.qas_id, number)
  errors.raise_if_any()


def _described(example):
  article = f"article {example.title!r}, " if example.title else ""
  return article + json_fields.shortened(example.question)


def _located(path, example, report):
  """The example with every answer located; counts what is odd about it."""
  place = place_of(path, example)
  if not example.context.strip():
    report.add(notices.BLANK_CONTEXT, place)
  if not example.question.strip():
    report.add(notices.BLANK_QUESTION, place)
  if example.is_impossible and example.answers:
    report.add(notices.ANSWERED_IMPOSSIBLE, place)
  answers = tuple(
    _located_answer(example.context, answer, f"{place}, answer {n}", report)
    for n, answer in enumerate(example.answers)
  )
  annotations = tuple(
    tuple(
      _located_answer(
        example.context, span, f"{place}, annotator {n}, span {i}", report
      )
      for i, span in enumerate(spans)
    )
    for n, spans in enumerate(example.annotations)
  )
  if not answers:
    answers = tuple(
      dict.fromkeys(span for spans in annotations for span in spans)
    )
  if answers == example.answers and annotations == example.annotations:
    return example
  return dataclasses.replace(example, answers=answers, annotations=annotations)


def _located_answer(context, answer, place, report):
  location = locate_answer(context, answer.text, answer.char_start)
  if location.char_start == NOT_LOCATED:
    report.add(notices.ANSWER_NOT_LOCATED, place, location.detail)
  elif location.moved:
    report.add(notices.ANSWER_MOVED, place, location.detail)
  if location.char_start == answer.char_start:
    return answer
  return Answer(answer.text, location.char_start)
