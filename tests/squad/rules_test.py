import pytest

from bert_span.squad.example import Answer, SquadExample
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import make_squad_file, read_squad
from bert_span.squad.rules import prediction_examples, training_examples

_YES, _NO, _LOST = Answer("yes", 0), Answer("no", 8), Answer("maybe", 0)


def _example(qas_id="q1", answers=(_YES,), context="yes and no", **more):
  return SquadExample(qas_id, "Well?", context, answers, title="T", **more)


def _file(*examples, version_2=False):
  return make_squad_file("t.json", list(examples), version_2)


def test_an_answerable_question_trains_on_its_first_answer_in_the_passage():
  squad_file = _file(_example(answers=(_LOST, _NO, _YES)))
  (example,) = training_examples(squad_file, False)
  assert example.answers == (_NO,)
  assert squad_file.examples[0].answers == (Answer("maybe", -1), _NO, _YES)
  assert squad_file.report.count(FindingKind.SEVERAL_ANSWERS) == 1


def test_every_annotator_is_kept_where_all_are_learned_from():
  squad_file = _file(
    _example(answers=(_NO, _LOST)),
    _example("q2", (), annotations=((), (_YES,))),
    _example("q3", (), annotations=((),)),
  )
  kept = training_examples(squad_file, False, every_annotator=True)
  assert kept == list(squad_file.examples)
  assert squad_file.report.count(FindingKind.SEVERAL_ANSWERS) == 0


@pytest.mark.parametrize(
  ("useless", "kind"),
  [
    (_example("u", ()), FindingKind.NO_ANSWER),
    (_example("u", (_LOST,)), FindingKind.NO_LOCATED_ANSWER),
    (_example("u", (Answer("", 0),)), FindingKind.NO_LOCATED_ANSWER),
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
  with pytest.raises(ValueError, match=r"t\.json: none of its 1") as caught:
    training_examples(_file(useless), False)
  assert kind.fact in str(caught.value)


def test_unanswerable_questions_need_the_flag_to_train():
  impossible = [_example(i, is_impossible=True) for i in "bc"]
  squad_file = _file(_example("a"), *impossible, version_2=True)
  one, two, _ = training_examples(squad_file, True)
  assert (one.answers, two.answers, two.is_impossible) == ((_YES,), (), True)
  with pytest.raises(ValueError) as caught:
    training_examples(squad_file, False)
  for words in ("t.json: article 'T', question 'b'", "2 of the 3", "--version"):
    assert words in str(caught.value)


def test_the_flag_does_not_fit_a_file_without_unanswerable_questions():
  with pytest.raises(ValueError, match=r"t\.json: --version_2_with_negative"):
    training_examples(_file(_example()), True)
  squad_file = _file(_example(), version_2=True)
  assert len(training_examples(squad_file, True)) == 1
  assert squad_file.report.count(FindingKind.ALL_ANSWERABLE) == 1


def test_prediction_keeps_every_question_and_counts_the_wrong_flag_once():
  squad_file = _file(_example("a", ()), _example("b", context=""))
  for _ in range(2):
    kept = prediction_examples(squad_file, True)
    assert [example.qas_id for example in kept] == ["a", "b"]
  assert squad_file.report.count(FindingKind.ALL_ANSWERABLE) == 1
  squad_file = _file(_example("b", (), is_impossible=True), version_2=True)
  for flag in (False, True):
    assert len(prediction_examples(squad_file, flag)) == 1
  assert squad_file.report.count(FindingKind.UNANSWERABLE) == 1
  assert squad_file.report.count(FindingKind.ALL_ANSWERABLE) == 0


def test_training_on_real_squad_2_keeps_every_question(shared_data):
  squad_file = read_squad(shared_data / "squad2_part.json")
  examples = training_examples(squad_file, True)
  assert len(examples) == 3308
  assert sum(e.is_impossible for e in examples) == 1675
  assert squad_file.report.count(FindingKind.SEVERAL_ANSWERS) == 1633
