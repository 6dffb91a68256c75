import pytest

from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import make_squad_file, read_squad
from bert_span.squad.rules import (
  prediction_examples,
  training_examples,
  with_answer_to_learn,
)

_YES = Answer("yes", 0)


def _example(qas_id="q1", answers=(_YES,), context="yes and no", **more):
  return SquadExample(qas_id, "Well?", context, answers, title="T", **more)


def _file(*examples, version_2=False):
  return make_squad_file("t.json", list(examples), version_2)


def test_an_answerable_question_trains_on_its_first_answer():
  squad_file = _file(_example(answers=(Answer("no", 8), _YES)))
  (example,) = training_examples(squad_file, False)
  assert example.answers == (Answer("no", 8),)
  assert squad_file.examples[0].answers == (Answer("no", 8), _YES)
  assert squad_file.report.count(FindingKind.SEVERAL_ANSWERS) == 1


def test_every_annotator_is_kept_where_all_are_learned_from():
  answers = (Answer("no", 8), Answer("maybe", 0))
  squad_file = _file(
    _example(answers=answers),
    _example("q2", (), annotations=((), (_YES,))),
    _example("q3", (), annotations=((),)),
  )
  kept = training_examples(squad_file, False, every_annotator=True)
  assert [e.qas_id for e in kept] == ["q1", "q2", "q3"]
  assert kept == list(squad_file.examples)
  assert squad_file.report.count(FindingKind.SEVERAL_ANSWERS) == 0


@pytest.mark.parametrize(
  ("useless", "kind"),
  [
    (_example("u", answers=()), FindingKind.NO_ANSWER),
    (
      _example("u", answers=(Answer("maybe", 0),)),
      FindingKind.NO_LOCATED_ANSWER,
    ),
    (
      _example("u", answers=(Answer("", 0),)),
      FindingKind.NO_LOCATED_ANSWER,
    ),
    (_example("u", context=" "), FindingKind.BLANK_CONTEXT),
  ],
)
def test_questions_without_an_answer_are_skipped_and_counted_once(
  useless, kind
):
  squad_file = _file(useless, _example("good"))
  for _ in range(2):
    (kept,) = training_examples(squad_file, False)
    assert kept.qas_id == "good"
  assert squad_file.report.count(kind) == 1
  lines = "".join(squad_file.report.lines())
  assert "t.json: article 'T', question 'u'" in lines


def test_the_answer_to_learn_is_the_first_in_the_passage():
  lost, no = Answer("maybe", -1), Answer("no", 8)
  answers = (lost, no, _YES)
  assert with_answer_to_learn(_example(answers=answers)).answers == (no,)
  assert with_answer_to_learn(_example(answers=(lost,))).answers == ()
  impossible = _example(answers=answers, is_impossible=True)
  assert with_answer_to_learn(impossible).answers == ()


def test_a_file_with_nothing_to_train_on_is_an_error_that_says_why():
  with pytest.raises(ValueError, match=r"t\.json: none of its 1") as caught:
    training_examples(_file(_example(answers=())), False)
  assert FindingKind.NO_ANSWER.fact in str(caught.value)


def test_unanswerable_questions_train_without_answers_when_asked_for():
  squad_file = _file(
    _example("a"), _example("b", is_impossible=True), version_2=True
  )
  one, two = training_examples(squad_file, True)
  assert one.answers == (_YES,)
  assert (two.is_impossible, two.answers) == (True, ())


def test_an_unanswerable_question_without_the_flag_is_an_error():
  squad_file = _file(
    _example("a"),
    _example("b", (), is_impossible=True),
    _example("c", (), is_impossible=True),
    version_2=True,
  )
  with pytest.raises(ValueError) as caught:
    training_examples(squad_file, False)
  for word in (
    "t.json: article 'T', question 'b'",
    "2 of the 3",
    "--version_2_with_negative",
  ):
    assert word in str(caught.value)


def test_the_flag_with_a_1_1_file_is_an_error_in_training():
  with pytest.raises(ValueError) as caught:
    training_examples(_file(_example()), True)
  for word in ("t.json", "--version_2_with_negative", "1.1", "Leave the flag"):
    assert word in str(caught.value)


def test_the_flag_with_a_2_0_file_that_has_no_negative_is_counted():
  squad_file = _file(_example(), version_2=True)
  assert len(training_examples(squad_file, True)) == 1
  assert squad_file.report.count(FindingKind.ALL_ANSWERABLE) == 1


def test_prediction_keeps_every_question():
  examples = (
    _example("a", answers=()),
    _example("b", context=""),
    _example("c", answers=(Answer("maybe", 0),)),
  )
  squad_file = _file(*examples)
  ids = [e.qas_id for e in prediction_examples(squad_file, False)]
  assert ids == ["a", "b", "c"]


def test_predicting_a_1_1_file_with_the_flag_is_counted_once():
  squad_file = _file(_example("a"), _example("b"))
  for _ in range(2):
    assert len(prediction_examples(squad_file, True)) == 2
  assert squad_file.report.count(FindingKind.ALL_ANSWERABLE) == 1


def test_predicting_unanswerable_questions_without_the_flag_is_counted():
  squad_file = _file(_example("b", (), is_impossible=True), version_2=True)
  assert len(prediction_examples(squad_file, False)) == 1
  assert squad_file.report.count(FindingKind.UNANSWERABLE) == 1
  assert len(prediction_examples(squad_file, True)) == 1
  assert squad_file.report.count(FindingKind.ALL_ANSWERABLE) == 0


def test_training_on_real_squad_2_keeps_every_question(shared_data):
  squad_file = read_squad(shared_data / "squad2_part.json")
  examples = training_examples(squad_file, True)
  assert len(examples) == 3308
  assert sum(e.is_impossible for e in examples) == 1675
  assert squad_file.report.count(FindingKind.SEVERAL_ANSWERS) == 1633
