"""What is wrong with a file, and its repaired copy."""

import json
import pathlib
import re
import tempfile

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_span.reporting.linter import (
  lint_squad_file,
  repair_squad_file,
  repair_squad_text,
)
from bert_span.squad.findings import FindingKind
from tests.support.squad import spans, squad_content

_CONTEXT = "Bees dance to tell where nectar is."
_BEES, _DANCE = spans(("Bees", 0), ("dance", 5))


def _question(qas_id, question=None, answers=(_BEES,), **more):
  question = f"Question {qas_id}?" if question is None else question
  return {"id": qas_id, "question": question, "answers": answers, **more}


@pytest.fixture
def lint(tmp_path):
  """A function that writes questions as a file and lints it."""

  def write_and_lint(*questions, context=_CONTEXT, content=None):
    squad = squad_content(context, *questions)
    path = tmp_path / "bees.json"
    path.write_text(json.dumps(squad) if content is None else content)
    return lint_squad_file(path)

  return write_and_lint


def _names(linted):
  return [finding.kind.name.lower() for finding in linted.findings]


def test_files_of_the_wrong_structure_have_findings_only(lint, tmp_path):
  linted = lint(*[_question(n, question=n) for n in range(25)])
  assert _names(linted) == ["structure"] * 25
  assert "question 24" in linted.findings[-1].detail
  assert linted.examples == ()
  (finding,) = lint(content="[]").findings
  assert finding.kind is FindingKind.UNREADABLE
  assert "bees.json" not in finding.detail  # The report names the file.
  assert _names(lint()) == ["no_questions"]
  with pytest.raises(FileNotFoundError, match=r"none\.json"):
    lint_squad_file(tmp_path / "none.json")


def test_every_id_used_again_is_an_error_that_names_both_places(lint):
  linted = lint(_question("7"), _question("b"), _question(7, "Y?"))
  assert _names(linted) == ["integer_id", "duplicate_id"]
  integer, duplicate = linted.findings
  assert integer.repair == "7"
  where = "data[0].paragraphs[0].qas"
  assert duplicate.detail == (
    f"'Y?' at {where}[2]; first used for 'Question 7?' at {where}[0]"
  )


def test_a_question_asked_again_says_whether_the_answers_differ(lint):
  linted = lint(
    _question("a", "Who  dance?"),
    _question("b", "who dance? "),
    _question("c", "Who dance?", answers=[_DANCE]),
    _question("d", "Who dance?", answers=[_BEES, _DANCE]),
    _question("e", "Who dance?", answers=[], is_impossible=True),
  )
  found = {
    f.qas_id: f.detail.partition("as question 'a' with ")[2]
    for f in linted.findings
    if f.kind is FindingKind.DUPLICATE_QUESTION
  }
  assert found == {
    "b": "the same answers",
    "c": "other answers",
    "d": "some of the same answers",
    "e": "other answers",
  }
  # About another passage it is no finding.
  paragraphs = [
    {"context": text, "qas": [_question(text, "Who?")]}
    for text in ("Bees dance.", "Bees sleep.")
  ]
  linted = lint(content=json.dumps({"data": [{"paragraphs": paragraphs}]}))
  assert linted.findings == []
  assert linted.json_paths[1] == "data[0].paragraphs[1].qas[0]"


@pytest.mark.parametrize(
  ("changes", "names", "words"),
  [
    ({"answers": []}, "no_answer", ""),
    ({"answers": [], "is_impossible": True}, "unanswerable", ""),
    ({"is_impossible": True}, "unanswerable impossible_with_answers", "'Bees'"),
    ({"answers": [_BEES, _DANCE]}, "several_answers", "2 answers"),
    ({"question": " \n"}, "blank_question", ""),
    ({"answers": spans(("nectar", 3))}, "answer_moved", "answer 0.* at 25"),
    ({"annotations": [spans(("dance", 6))]}, "answer_moved", "span 0.* at 5"),
    ({"answers": spans(("honey", 0))}, "answer_not_located", "lacks it"),
    ({"answers": spans(("e", 0))}, "answer_not_located", "several: 1, 2, 9"),
    ({"answers": spans((" ", 4))}, "blank_answer", ""),
    ({"answers": spans(("", 0))}, "blank_answer", ""),
  ],
)
def test_questions_that_are_odd(lint, changes, names, words):
  linted = lint(_question("q1", **changes))
  assert _names(linted) == names.split()
  assert {f.qas_id for f in linted.findings} == {"q1"}
  last = linted.findings[-1]
  assert re.search(f"'Bees', question 'q1'.*{words}", last.place + last.detail)


def test_a_blank_passage_is_a_finding(lint):
  linted = lint(_question("q1", answers=[]), context=" \n")
  assert _names(linted) == ["no_answer", "blank_context"]
  assert linted.examples[0].context == " \n"


_ANY_TEXT = st.text(st.characters(exclude_categories=()))
_ANY_JSON = st.recursive(
  st.none() | st.booleans() | st.integers() | st.floats() | _ANY_TEXT,
  lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
  ),
  max_leaves=6,
)
_SQUAD = """{"version": 1.10, "note": "id: 7, \\"answer_start\\": 3", "data": [
  {"paragraphs": [{"qas": [
    {"answers": [{"text": "Zoë", "answer_start":  %s, "score": 1e2},
                 {"answer_start": %s, "text": "Zoë"}],
     "annotations": [[], [{"text": "Zoë", "answer_start": %s}]],
     "question": "Who? 99", "id": %s, "extra": [1, -2, {"k\\u00e9y": 3}]}
  ], "context": "It is Zoë\\ud83d 12.", "numbers": [0.5, -1, 12]}],
  "title": "naïve"}]}
"""
_TEXT, _REPAIRED = _SQUAD % (4, 0, 5, 7), _SQUAD % (6, 6, 6, '"7"')
_CHANGES = [
  {
    "path": f"data[0].paragraphs[0].qas[0].{path}",
    "question_id": "7",
    "kind": kind,
    "before": before,
    "after": after,
  }
  for path, kind, before, after in (
    ("id", "integer_id", 7, "7"),
    ("answers[0].answer_start", "answer_moved", 4, 6),
    ("answers[1].answer_start", "answer_moved", 0, 6),
    ("annotations[1][0].answer_start", "answer_moved", 5, 6),
  )
]


@pytest.fixture
def repair(tmp_path):
  """A function that writes a text as a file and repairs it."""

  def write_and_repair(content, copy="b.json", log="log.jsonl"):
    path = tmp_path / "a.json"
    path.write_bytes(content.encode())
    linted = lint_squad_file(path)
    changes = repair_squad_file(linted, tmp_path / copy, tmp_path / log)
    assert path.read_bytes() == content.encode()
    return (tmp_path / copy).read_bytes().decode(), changes

  return write_and_repair


def test_only_the_wrong_numbers_are_replaced_and_a_copy_is_logged(
  repair, tmp_path
):
  assert repair(_TEXT) == (_REPAIRED, _CHANGES)
  log = (tmp_path / "log.jsonl").read_text()
  assert list(map(json.loads, log.splitlines())) == _CHANGES
  # A repaired text is repaired no further, and its log stays.
  assert repair(_REPAIRED) == (_REPAIRED, [])
  assert (tmp_path / "log.jsonl").read_text() == log
  # A byte order mark and line ends stay.
  before, after = (
    "\ufeff" + text.replace("\n", "\r\n") for text in (_TEXT, _REPAIRED)
  )
  assert repair(before, "c.json") == (after, _CHANGES)


def test_a_copy_that_was_corrected_by_hand_is_not_replaced(repair, tmp_path):
  repair(_TEXT)
  corrected = _REPAIRED.replace("Zoë", "Zoé")
  assert corrected != _REPAIRED
  (tmp_path / "b.json").write_bytes(corrected.encode())
  with pytest.raises(ValueError, match=r"b\.json exists.* output_file"):
    repair(_TEXT)
  assert (tmp_path / "b.json").read_bytes() == corrected.encode()
  # The remedy.
  assert repair(_TEXT, "c.json") == (_REPAIRED, _CHANGES)


def test_a_copy_on_another_file_system_is_as_safe(tmp_path):
  path, copy = f"file://{tmp_path}/a.json", f"ram://{tmp_path}/b.json"
  (tmp_path / "a.json").write_text(_TEXT)
  linted = lint_squad_file(path)
  with pytest.raises(ValueError, match=r"a\.json .*input"):
    repair_squad_file(linted, str(tmp_path / "a.json"), f"{copy}l")
  tf.io.gfile.makedirs(f"ram://{tmp_path}")
  with tf.io.gfile.GFile(copy, "w") as file:
    file.write("corrected by hand")
  with pytest.raises(ValueError, match=r"b\.json exists.* output_file"):
    repair_squad_file(linted, copy, f"{copy}l")
  tf.io.gfile.remove(copy)
  assert repair_squad_file(linted, copy, f"{copy}l") == _CHANGES
  with tf.io.gfile.GFile(copy, "rb") as file:
    assert file.read().decode() == _REPAIRED


def test_what_is_not_repaired_is_refused(repair, tmp_path):
  for names in (("a.json", "log"), ("b.json", "a.json")):
    with pytest.raises(ValueError, match=r"a\.json .*input"):
      repair(_TEXT, *names)
    assert (tmp_path / "a.json").read_text() == _TEXT
  multi = {"id": 7, "question": ["who"], "context": ["Ada"], "label": ["B"]}
  answers = {"text": ["Ada"], "answer_start": [3]}
  flat = {"id": "7", "question": "who", "context": "Ada", "answers": answers}
  for record, named in ((multi, "MultiSpanQA"), (flat, "run_qa.py")):
    with pytest.raises(ValueError, match=rf"a\.json.*{named}.*`fix`"):
      repair(json.dumps({"data": [record]}))


@st.composite
def _any_squad(draw):
  """JSON of SQuAD's form with any texts, offsets, ids and further keys."""
  context = draw(st.text("ab \\\"'é\ud83d🙂\n", max_size=12))
  answer = {
    "answer_start": st.integers(-3, 15),
    "text": st.text("ab é", max_size=2),
  }
  answer = st.fixed_dictionaries(answer, optional={"x": _ANY_JSON})
  question = {
    "answers": st.lists(answer, max_size=3),
    "id": st.integers() | st.text(max_size=2),
    "question": st.text(max_size=2),
  }
  optional = {"is_impossible": st.booleans(), "x": _ANY_JSON}
  question = st.fixed_dictionaries(question, optional=optional)
  questions = draw(st.lists(question, min_size=1, max_size=3))
  paragraph = {"x": draw(_ANY_JSON), "qas": questions, "context": context}
  squad = {"x": draw(_ANY_JSON), "data": [{"paragraphs": [paragraph]}]}
  return json.dumps(squad, ensure_ascii=True)


@settings(max_examples=60, deadline=None)
@given(_any_squad())
def test_any_file_is_linted_and_its_repair_leaves_nothing_to_repair(content):
  with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "any.json")
    path.write_text(content)
    before = lint_squad_file(path)
    repaired, changes = repair_squad_text(content, before.findings)
    path.write_text(repaired)
    after = lint_squad_file(path)
  repairable = [f for f in before.findings if f.repair is not None]
  assert len(changes) == len(repairable)
  assert after.findings == [f for f in before.findings if f.repair is None]
  assert after.examples == before.examples
