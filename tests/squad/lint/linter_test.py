import json

import pytest
from squad_content import spans, squad_content

from bert_span.squad.example import NOT_LOCATED
from bert_span.squad.findings import FindingKind
from bert_span.squad.lint.linter import lint_squad_file
from bert_span.squad.reader import read_squad

_CONTEXT = "Bees dance to tell where nectar is."
_BEES, _DANCE = spans(("Bees", 0), ("dance", 5))


def _question(qas_id, question=None, answers=(_BEES,), **more):
  question = f"Question {qas_id}?" if question is None else question
  return {"id": qas_id, "question": question, "answers": list(answers), **more}


@pytest.fixture
def lint(tmp_path):
  """Writes questions about one passage as a file and lints it."""

  def write_and_lint(*questions, context=_CONTEXT, content=None):
    squad = squad_content(context, *questions)
    path = tmp_path / "bees.json"
    path.write_text(json.dumps(squad) if content is None else content)
    return lint_squad_file(path)

  return write_and_lint


def _names(linted):
  return [finding.kind.name.lower() for finding in linted.findings]


def test_a_good_file_has_no_finding_and_its_counts(lint):
  linted = lint(_question("q1"), _question("q2"))
  assert linted.findings == []
  assert [e.qas_id for e in linted.examples] == ["q1", "q2"]
  assert linted.json_paths[1] == "data[0].paragraphs[0].qas[1]"
  assert (linted.num_articles, linted.num_passages) == (1, 1)
  assert not linted.version_2


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


@pytest.mark.parametrize(
  ("answer", "kind", "repair", "detail"),
  [
    (("nectar", 3), "answer_moved", 25, "it is at 25"),
    (("honey", 0), "answer_not_located", None, "the passage lacks it"),
    (("e", 0), "answer_not_located", None, "at several: 1, 2, 9"),
    ((" ", 4), "blank_answer", None, ""),
    (("", 0), "blank_answer", None, ""),
  ],
)
def test_answers_that_are_not_where_they_say(
  lint, answer, kind, repair, detail
):
  linted = lint(_question("q1", answers=[_BEES, *spans(answer)]))
  finding = next(f for f in linted.findings if f.kind.name.lower() == kind)
  assert finding.place == "article 'Bees', question 'q1', answer 1"
  assert finding.json_path == "data[0].paragraphs[0].qas[0].answers[1]"
  assert finding.repair == repair
  assert detail in finding.detail
  located = NOT_LOCATED if repair is None else repair
  assert linted.examples[0].answers[1].char_start == located


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


def test_the_same_question_about_another_passage_is_no_finding(lint):
  paragraphs = [
    {"context": text, "qas": [_question(text, "Who?")]}
    for text in ("Bees dance.", "Bees sleep.")
  ]
  linted = lint(content=json.dumps({"data": [{"paragraphs": paragraphs}]}))
  assert linted.findings == []
  assert linted.json_paths[1] == "data[0].paragraphs[1].qas[0]"


@pytest.mark.parametrize(
  ("changes", "context", "names"),
  [
    ({"answers": []}, _CONTEXT, ["no_answer"]),
    ({"answers": []}, " \n", ["no_answer", "blank_context"]),
    ({"answers": [], "is_impossible": True}, _CONTEXT, ["unanswerable"]),
    (
      {"is_impossible": True},
      _CONTEXT,
      ["unanswerable", "impossible_with_answers"],
    ),
    ({"answers": [_BEES, _DANCE]}, _CONTEXT, ["several_answers"]),
    ({"question": " \n"}, _CONTEXT, ["blank_question"]),
    ({"annotations": [spans(("dance", 6))]}, _CONTEXT, ["answer_moved"]),
  ],
)
def test_questions_that_are_odd(lint, changes, context, names):
  linted = lint(_question("q1", **changes), context=context)
  assert _names(linted) == names
  assert {f.qas_id for f in linted.findings} == {"q1"}
  assert linted.examples[0].context == context


@pytest.mark.parametrize(
  ("name", "counts"),
  [
    ("covidqa_part.json", {"answer_moved": 1, "integer_id": 97}),
    ("squad1_dev_half.json", {"several_answers": 4959}),
    ("squad2_part.json", {}),
    ("multispanqa_part.json", {"no_answer": 0}),
  ],
)
def test_real_files_have_the_findings_of_the_reader(shared_data, name, counts):
  linted = lint_squad_file(shared_data / name)
  names = _names(linted)
  for kind, count in counts.items():
    assert names.count(kind) == count
  assert linted.examples
  assert linted.examples == read_squad(shared_data / name).examples
