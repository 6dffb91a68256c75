"""Questions to train on and to answer, and what is said of others."""

import pytest

from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.squad.findings import FindingKind
from bert_span.squad.reader import make_squad_file
from bert_span.squad.rules import (
  examples_to_learn,
  prediction_examples,
  training_examples,
)

_YES, _NO, _LOST = (
  AnswerSpan("yes", 0),
  AnswerSpan("no", 8),
  AnswerSpan("maybe", 0),
)


def _example(qas_id="q1", answers=(_YES,), context="yes and no", **more):
  return SquadExample(qas_id, "Well?", context, answers, title="T", **more)


def _file(*examples, version_2=False):
  return make_squad_file("t.json", list(examples), version_2)


def test_an_answerable_question_trains_on_its_first_answer_in_the_passage():
  squad_file = _file(_example(answers=(_LOST, _NO, _YES)))
  (example,) = training_examples(squad_file, False)
  assert example.answers == (_NO,)
  assert squad_file.examples[0].answers == (AnswerSpan("maybe", -1), _NO, _YES)
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
    (_example("u", (AnswerSpan("", 0),)), FindingKind.NO_LOCATED_ANSWER),
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
  with pytest.raises(ValueError, match=r"t\.json: .* 1") as caught:
    training_examples(_file(useless), False)
  assert kind.fact in str(caught.value)


def test_examples_without_a_file_are_chosen_alike_and_the_skipped_logged(
  capsys,
):
  squad_file = _file(
    *(_example("lost", (_LOST,)), _example("none", ())),
    *(_example("late", (_LOST, _NO)), _example("no", (), is_impossible=True)),
    version_2=True,
  )
  expected = training_examples(squad_file, True)
  assert [e.qas_id for e in expected] == ["late", "no"]
  assert examples_to_learn(iter(squad_file.examples)) == expected
  lost, none, several = capsys.readouterr().err.splitlines()
  for line, qas_id in ((lost, "lost"), (none, "none"), (several, "late")):
    assert line.startswith("1 question: ") and f"'{qas_id}'" in line
  # Of a file its name is logged, too.
  assert examples_to_learn(squad_file) == expected
  assert "t.json: article 'T', question 'lost'" in capsys.readouterr().err
  with pytest.raises(ValueError, match="no examples"):
    examples_to_learn([])
  with pytest.raises(ValueError, match="question 'lost'"):
    examples_to_learn(squad_file.examples[:1])


def test_annotations_are_answers_of_an_example_that_no_file_gave():
  example = _example("q", (), annotations=((_LOST, _NO), (_YES,)))
  lost = _example("lost", (), annotations=((AnswerSpan("maybe", -1),),))
  assert examples_to_learn([example, lost], every_annotator=True) == [example]
  (kept,) = examples_to_learn(_file(example).examples)
  assert kept.answers == (_NO,)
  located = _example("q", (), annotations=((_NO,), (_YES,)))
  (kept,) = examples_to_learn([located, lost])
  assert kept.answers == (_NO,)


def test_unanswerable_questions_need_the_flag_to_train():
  impossible = [_example(i, is_impossible=True) for i in "bc"]
  squad_file = _file(_example("a"), *impossible, version_2=True)
  one, two, _ = training_examples(squad_file, True)
  assert (one.answers, two.answers, two.is_impossible) == ((_YES,), (), True)
  with pytest.raises(ValueError) as caught:
    training_examples(squad_file, False)
  for words in ("t.json: article 'T', question 'b'", "2 of the 3", "version_2"):
    assert words in str(caught.value)


def test_the_flag_does_not_fit_a_file_without_unanswerable_questions():
  with pytest.raises(ValueError, match=r"t\.json: .*version_2_with_negative"):
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
