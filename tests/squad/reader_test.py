"""SQuAD files become examples, or one error that names the place."""

import json

import pytest
import tensorflow as tf

from bert_span.reporting.linter import lint_squad_file
from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import read_squad
from tests.support.squad import spans, squad_content

_CONTEXT = "Bees dance to tell where nectar is."


def _question(**changes):
  question = {"id": "q1", "question": "Who dance?", **changes}
  question.setdefault("answers", spans(("Bees", 0)))
  return {k: v for k, v in question.items() if v is not ...}


def _squad(*questions, context=_CONTEXT, **top):
  return squad_content(context, *questions, **top)


@pytest.fixture
def read(tmp_path):
  """Writes a value as JSON, or bytes as they are, and reads the file."""

  def write_and_read(content):
    path = tmp_path / "bees.json"
    if not isinstance(content, bytes):
      content = json.dumps(content).encode()
    path.write_bytes(content)
    return read_squad(path)

  return write_and_read


@pytest.mark.parametrize("read_any", [read_squad, lint_squad_file])
@pytest.mark.parametrize("folder", ["{}", "file://{}", "ram://squad{}"])
def test_a_file_may_be_on_any_file_system_of_tensorflow(
  tmp_path, folder, read_any
):
  folder = folder.format(tmp_path)
  path = f"{folder}/bees.json"
  tf.io.gfile.makedirs(folder)
  with tf.io.gfile.GFile(path, "w") as file:
    file.write(json.dumps(_squad(_question())))
  (example,) = read_any(path).examples
  assert example.answers == (AnswerSpan("Bees", 0),)
  with pytest.raises(FileNotFoundError, match=f"'{path}x'"):
    read_any(f"{path}x")


def _error(read, content):
  with pytest.raises(ValueError) as caught:
    read(content)
  assert "bees.json" in str(caught.value)
  return str(caught.value)


def test_a_file_becomes_examples_in_its_order(read):
  wrong = [{"text": "no such text", "answer_start": 3}]
  ignored = _question(plausible_answers=wrong, comments=[1], extra=None)
  squad_file = read(_squad(ignored, _question(id=1719, answers=[]), comment=1))
  bees = (AnswerSpan("Bees", 0),)
  assert squad_file.examples == (
    SquadExample("q1", "Who dance?", _CONTEXT, bees, False, "Bees"),
    SquadExample("1719", "Who dance?", _CONTEXT, (), False, "Bees"),
  )
  assert not squad_file.version_2
  assert squad_file.report.lines() == []
  assert squad_file.path.endswith("bees.json")


@pytest.mark.parametrize("absent", [{}, {"answers": None}])
def test_answers_and_title_may_be_absent_or_null(read, absent):
  squad = _squad({"id": "q1", "question": "Who?", **absent}, title=None)
  if not absent:
    del squad["data"][0]["title"]
  (example,) = read(squad).examples
  assert (example.answers, example.title) == ((), "")


def test_annotations_are_several_spans_of_several_annotators(read):
  question = _question(
    answers=...,
    annotations=[spans(("Bees", 0), ("nectar", 25)), [], spans(("Bees", 1))],
  )
  squad_file = read(_squad(question))
  (example,) = squad_file.examples
  bees, nectar = AnswerSpan("Bees", 0), AnswerSpan("nectar", 25)
  assert example.annotations == ((bees, nectar), (), (bees,))
  assert example.annotators == example.annotations
  assert example.answers == (bees, nectar)  # each once
  assert squad_file.report.count(FindingKind.ANSWER_MOVED) == 1
  # As a span head, a B/I/O head learns that there is no answer.
  squad_file = read(_squad({**question, "is_impossible": True}))
  assert squad_file.examples[0].annotators == ((),)
  assert squad_file.report.count(FindingKind.IMPOSSIBLE_WITH_ANSWERS) == 1


def test_version_2_is_known_by_its_key_or_its_version(read):
  for question, top, version_2 in (
    (_question(), {"version": "1.1"}, False),
    (_question(), {"version": None}, False),
    (_question(), {"version": "v2.0"}, True),
    (_question(is_impossible=False), {}, True),
  ):
    assert read(_squad(question, **top)).version_2 is version_2


@pytest.mark.parametrize(
  ("changes", "words"),
  [
    ({"id": ...}, ["question 0", "'id'", "Add it"]),
    ({"id": 1.5}, ["question 1.5", "'id'", "received 1.5"]),
    ({"question": ["Who"]}, ["'question'", "string"]),
    ({"answers": {"text": ["Bees"]}}, ["'answers'", "list"]),
    ({"answers": ["Bees"]}, ["answer 0", "object", "'Bees'"]),
    ({"answers": [{"text": "Bees"}]}, ["answer 0", "'answer_start'"]),
    ({"answers": spans(("Bees", "0"))}, ["answer 0", "integer", "'0'"]),
    ({"is_impossible": "false"}, ["'is_impossible'", "boolean"]),
    ({"annotations": [7]}, ["annotator 0", "list of spans"]),
    ({"annotations": [[], [{"text": "B"}]]}, ["annotator 1, span 0", "_start"]),
  ],
)
def test_a_malformed_question_is_named_with_a_remedy(read, changes, words):
  message = _error(read, _squad(_question(**changes)))
  assert "article 'Bees', paragraph 0, question " in message
  assert all(word in message for word in words)


@pytest.mark.parametrize(
  ("squad", "words"),
  [
    ({"data": [7]}, ["article 0", "object", "received 7"]),
    ({"data": [{"title": 3, "paragraphs": []}]}, ["article 0", "'title'"]),
    ({"data": [{"paragraphs": [[]]}]}, ["article 0", "paragraph 0"]),
    (_squad("q1"), ["paragraph 0", "question 0", "object"]),
    ({"data": [{"paragraphs": [{"context": ""}]}]}, ["'qas' is missing"]),
    ({"data": []}, ["no question", "'qas'"]),
    (
      _squad(_question(id=5), _question(id="5", question="What?")),
      ["'5'", "number 0", "number 1", "'What?'", "rename or remove"],
    ),
    ([{"id": 1}], ["bare list of 1", '{"data":']),
    (None, ["JSON NoneType", '{"data":']),
    ({"rows": []}, ["'data' is missing", "keys: 'rows'"]),
    ({"data": {"a": 1}}, ["'data' must be a list", "received dict"]),
    (
      b'{"data": [{"qas": [1], "zz": 1, "qas": []}, {"a": 1, "a": 2}]}',
      ["'qas' more than once", "{'qas': [], 'zz': 1}", "like that: 2"],
    ),
  ],
)
def test_a_malformed_file_is_refused(read, squad, words):
  message = _error(read, squad)
  assert all(word in message for word in words)


def test_errors_of_a_file_are_reported_together_up_to_ten(read):
  message = _error(read, _squad(*[_question(question=n) for n in range(25)]))
  assert "25 errors" in message and "and 15 more" in message
  assert "received 9." in message and "received 10" not in message


# --- Real files; tests/robustness damages one.


@pytest.mark.large
@pytest.mark.parametrize(
  ("name", "questions", "version_2", "findings"),
  [
    # The answer to covidqa's question 1719 is a blank off.
    ("covidqa_part", 97, True, {"ANSWER_MOVED": 1, "INTEGER_ID": 97}),
    ("multispanqa_part", 450, False, {"NO_ANSWER": 0}),
    ("squad1_dev_half", 4961, False, {"SEVERAL_ANSWERS": 4959}),
    ("squad1_train_part", 11877, False, {}),
    ("squad2_part", 3308, True, {}),
    ("xquad_ar", 1190, False, {}),
    ("xquad_en", 1190, False, {}),
    ("xquad_zh", 1190, False, {}),
  ],
)
def test_real_files_are_read_and_linted_whole(
  shared_data, name, questions, version_2, findings
):
  path = shared_data / f"{name}.json"
  squad_file, linted = read_squad(path), lint_squad_file(path)
  assert len(squad_file.examples) == questions
  assert squad_file.version_2 is version_2
  for example in squad_file.examples:
    for answer in example.answers:
      assert example.context.startswith(answer.text, answer.char_start)
  assert len(squad_file.report.lines()) == findings.get("ANSWER_MOVED", 0)
  assert linted.examples == squad_file.examples
  names = [finding.kind.name for finding in linted.findings]
  assert {kind: names.count(kind) for kind in findings} == findings
