"""Reads SQuAD 1.1 and 2.0 files, JSON or Parquet.

Faults that two people would read differently (a missing key, a wrong type, an
id used twice) are errors, and all errors of a file are reported together.
Faults that leave a question usable are counted in the report.
"""

import collections
import dataclasses
import itertools
import os

from bert_span.options.messages import shortened
from bert_span.squad.example import (
  NOT_LOCATED,
  AnswerSpan,
  SquadExample,
  locate_answer,
)
from bert_span.squad.findings import Finding, FindingKind, ReadReport
from bert_span.squad.flat_rows import (
  PARQUET,
  from_flat_rows,
  is_flat,
  parquet_rows,
)
from bert_span.squad.multispanqa import as_squad
from bert_span.storage.files import MAX_JSON_BYTES, parse_json, read_bytes
from bert_span.storage.json_fields import FieldErrors, is_json


@dataclasses.dataclass(frozen=True)
class SquadFile:
  """The questions of one file or TFDS split, in its order."""

  path: str  # the file or the split, for messages
  examples: tuple[SquadExample, ...]
  # True if a question has the key is_impossible, or version starts with "v2".
  version_2: bool
  # The findings of reading; preparing the examples adds more.
  report: ReadReport = dataclasses.field(default_factory=ReadReport)

  def count(self, kind: FindingKind, example: SquadExample) -> None:
    """Counts a finding about one of the questions in the report."""
    self.report.add(kind, f"{self.path}: {example.place}")


def read_squad(path: str | os.PathLike) -> SquadFile:
  """Reads a SQuAD file, or one of MultiSpanQA, local or remote.

  The file is JSON, or Parquet with the columns of SQuAD on the Hugging Face
  hub: id, title, context, question, answers.

  Integer ids become strings. Answers are optional; "plausible_answers" and
  unknown keys are ignored. An answer that cannot be located keeps its text, for
  scoring, with char_start -1.

  A question may have several spans per annotator under the key "annotations":
  a list of annotators, each a list of spans like "answers", empty for an
  annotator who found none.

  Raises ValueError if it is no SQuAD file, with up to 10 errors by article and
  question id.
  """
  path = os.fspath(path)
  errors = FieldErrors(path)
  examples, version_2 = parse_squad(load_squad_json(path), errors)
  errors.raise_if_any()
  return make_squad_file(path, examples, version_2)


def make_squad_file(
  path: str, examples: list[SquadExample], version_2: bool
) -> SquadFile:
  """Makes a `SquadFile` of examples, and locates their answers."""
  if not examples:
    kind = FindingKind.NO_QUESTIONS
    raise ValueError(f"{path}: {kind.fact}. {kind.remedy}")
  errors = FieldErrors(path)
  for first, index in repeated_ids(examples):
    uses = " and ".join(
      f"number {i} ({shortened(examples[i].question)})" for i in (first, index)
    )
    errors.add(
      f"question id {examples[index].qas_id!r}",
      f"used twice, by the questions {uses}, counted from 0. "
      f"{FindingKind.DUPLICATE_ID.remedy}",
    )
  errors.raise_if_any()
  report, located = ReadReport(), []
  for example in examples:
    example, findings = check_question(example)
    located.append(example)
    for finding in findings:
      report.add(finding.kind, f"{path}: {finding.place}", finding.detail)
  return SquadFile(path, tuple(located), version_2, report)


def repeated_ids(examples):
  """Yields (first, index) for each question with the id of an earlier one."""
  index_of = {}
  for index, example in enumerate(examples):
    first = index_of.setdefault(example.qas_id, index)
    if first != index:
      yield first, index


def load_squad_json(path: str | os.PathLike) -> dict:
  """Parses a SQuAD file; converts MultiSpanQA, flat rows and Parquet to it.

  ValueError unless it is an object with a list "data", which is not checked.
  """
  path = os.fspath(path)
  repeated = []

  def to_dict(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
      counts = collections.Counter(key for key, _ in pairs)
      repeated.append((counts.most_common(1)[0][0], result))
    return result

  content = read_bytes(path, MAX_JSON_BYTES)
  if content.startswith(PARQUET):
    top = parquet_rows(path, content)
  else:
    top = parse_json(content, path, to_dict)
  if repeated:
    key, record = repeated[0]
    raise ValueError(
      f"{path}: an object has the key {shortened(key)} more than once, and all "
      f"but the last would be lost: {shortened(record)}. Objects like that: "
      f"{len(repeated)}. Join or remove the repeated keys."
    )
  if isinstance(top, list):
    problem = f"the file is a bare list of {len(top)} values"
  elif not isinstance(top, dict):
    problem = f"the file is a JSON {type(top).__name__}"
  elif "data" not in top:
    keys = ", ".join(map(shortened, list(top)[:8])) or "none"
    problem = f"the key 'data' is missing. Received keys: {keys}"
  elif not isinstance(top["data"], list):
    received = type(top["data"]).__name__
    problem = f"'data' must be a list of articles, received {received}"
  elif is_flat(top):
    return from_flat_rows(path, top)
  else:
    return as_squad(path, top)
  raise ValueError(
    f'{path}: {problem}. Give a SQuAD file {{"data": [{{"paragraphs": '
    '[{"context": ..., "qas": [...]}]}]}.'
  )


def parse_squad(
  top: dict, errors: FieldErrors
) -> tuple[list[SquadExample], bool]:
  """Returns (examples, whether it is SQuAD 2.0); adds faults to `errors`."""
  examples = []
  version_2 = str(top.get("version")).startswith("v2")
  for i, article in errors.objects(top["data"], "article", "data"):
    title = errors.optional(article, "title", str, f"article {i}", "")
    place = f"article {title!r}" if title else f"article {i}"
    paragraphs = errors.required(article, "paragraphs", list, place)
    for j, paragraph in errors.objects(paragraphs, "paragraph", place):
      where = f"{place}, paragraph {j}"
      context = errors.required(paragraph, "context", str, where)
      qas = errors.required(paragraph, "qas", list, where)
      for k, question in errors.objects(qas, "question", where):
        named = f"{where}, question {shortened(question.get('id', k))}"
        example = _parse_question(question, context, title, named, errors)
        examples.append(example)
        version_2 |= "is_impossible" in question
  return examples, version_2


def check_question(
  example: SquadExample,
) -> tuple[SquadExample, list[Finding]]:
  """Locates the answers of a question and returns its findings.

  The findings' json_path starts at the question, such as "" or ".answers[0]".
  """
  findings = []

  def add(kind, where="", detail="", json_path="", repair=None):
    place, qas_id = example.place + where, example.qas_id
    findings.append(Finding(kind, place, detail, qas_id, json_path, repair))

  def located(answer, where, json_path):
    text = answer.text
    span, detail = locate_answer(example.context, text, answer.char_start)
    if not text.strip():
      add(FindingKind.BLANK_ANSWER, where, json_path=json_path)
    elif span.char_start == NOT_LOCATED:
      add(FindingKind.ANSWER_NOT_LOCATED, where, detail, json_path)
    elif detail:
      start = span.char_start
      add(FindingKind.ANSWER_MOVED, where, detail, json_path, repair=start)
    return span

  if not example.context.strip():
    add(FindingKind.BLANK_CONTEXT)
  if not example.question.strip():
    add(FindingKind.BLANK_QUESTION)
  spans = [*example.answers, *itertools.chain(*example.annotations)]
  if example.is_impossible and spans:
    texts = ", ".join(shortened(span.text) for span in spans[:3])
    add(FindingKind.IMPOSSIBLE_WITH_ANSWERS, detail=texts)
  answers = tuple(
    located(answer, f", answer {n}", f".answers[{n}]")
    for n, answer in enumerate(example.answers)
  )
  annotations = tuple(
    tuple(
      located(span, f", annotator {n}, span {i}", f".annotations[{n}][{i}]")
      for i, span in enumerate(spans)
    )
    for n, spans in enumerate(example.annotations)
  )
  answers = answers or tuple(dict.fromkeys(itertools.chain(*annotations)))
  changes = {"answers": answers, "annotations": annotations}
  return dataclasses.replace(example, **changes), findings


def _parse_question(question, context, title, place, errors):
  """Makes a `SquadExample` of a question's dict; an error makes it invalid."""
  if is_json(question.get("id"), int):
    qas_id = str(question["id"])  # Real files have them.
  else:
    qas_id = errors.required(question, "id", str, place)
  text = errors.required(question, "question", str, place)
  is_impossible = errors.optional(question, "is_impossible", bool, place, False)
  answers = errors.optional(question, "answers", list, place, [])
  annotators = errors.optional(question, "annotations", list, place, [])

  def spans(values, name, place):
    return tuple(
      AnswerSpan(
        errors.required(span, "text", str, f"{place}, {name} {i}"),
        errors.required(span, "answer_start", int, f"{place}, {name} {i}"),
      )
      for i, span in errors.objects(values, name, place)
    )

  annotations = []
  for number, values in enumerate(annotators or ()):
    where = f"{place}, annotator {number}"
    if isinstance(values, list):
      annotations.append(spans(values, "span", where))
    else:
      received = f"received {shortened(values)}. Correct its type."
      errors.add(
        where, f"must be a list of spans, [] for no answer, {received}"
      )
  return SquadExample(
    qas_id,
    text,
    context,
    spans(answers, "answer", place),
    is_impossible,
    title,
    tuple(annotations),
  )
