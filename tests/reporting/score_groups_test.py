"""Scores of groups, the confusion of no answer, the worst errors."""

import pytest

from bert_span.reporting import score_groups
from bert_span.reporting.question_results import QuestionResult
from bert_span.reporting.score_groups import GroupScore
from bert_span.squad.example import Answer, SquadExample


def _result(
  gold="Ada",
  prediction="Ada",
  exact=1,
  f1=1.0,
  probability=0.5,
  question="Who?",
):
  answers = (Answer(gold, 0), Answer("Ada and all of the others", 0))
  example = SquadExample("q", question, "Ada.", answers if gold else ())
  return QuestionResult(example, prediction, exact, f1, probability)


def test_a_group_is_averaged_in_percent():
  results = [
    _result(exact=1, f1=1.0, probability=0.9),
    _result(exact=0, f1=0.5, probability=0.4),
    _result(prediction=None, exact=0, f1=0.0, probability=None),
  ]
  score = score_groups.score_group("all", results)
  assert score.questions == 3
  assert score.exact == pytest.approx(100 / 3)
  assert score.f1 == pytest.approx(50.0)
  assert score.probability == pytest.approx(65.0)  # of the two that have one
  none = score_groups.score_group("none", results[2:])
  assert none == GroupScore("none", 1, 0.0, 0.0, None)


@pytest.mark.parametrize(
  ("question", "word"),
  [
    ("Who came?", "who"),
    ("With WHOM did she speak?", "who"),
    ("Whose mill is it?", "who"),
    ("In what year did whoever came leave?", "what"),
    ("How  many came?", "how many, how much"),
    ("how much is it", "how many, how much"),
    ("However, how is it?", "how"),
    ("At which mill?", "which"),
    ("Name the mill.", "other"),
    ("Où est-il ?", "other"),
    ("", "other"),
  ],
)
def test_a_question_has_the_group_of_its_first_question_word(question, word):
  assert score_groups.question_word(question) == word


def test_groups_by_question_word_come_by_size():
  questions = ["Why?", "Who?", "Name it.", "Who?", "Why?", "Why not?"]
  groups = score_groups.by_question_word(
    [_result(question=question) for question in questions]
  )
  assert [(g.name, g.questions) for g in groups] == [
    ("why", 3),
    ("who", 2),
    ("other", 1),
  ]


def test_groups_by_length_count_words_of_the_first_answer():
  golds = ["a b", None, "one", "a b c", "a b c d", "a b c d e", "x " * 9, "two"]
  groups = score_groups.by_answer_length([_result(gold=g) for g in golds])
  assert [(g.name, g.questions) for g in groups] == [
    ("1 word", 2),
    ("2 words", 1),
    ("3-4 words", 2),
    ("5-8 words", 1),
    ("9 words or more", 1),
    ("no answer", 1),
  ]


def test_groups_by_windows_are_in_order():
  results = [_result(exact=i % 2) for i in range(6)]
  groups = score_groups.by_num_windows(results, [2, 1, 0, 9, 5, 1])
  assert [(g.name, g.questions, g.exact) for g in groups] == [
    ("0 windows", 1, 0.0),
    ("1 window", 2, 100.0),
    ("2 windows", 1, 0.0),
    ("5 windows or more", 2, 50.0),
  ]


def test_groups_by_answerability():
  results = [_result(), _result(gold=None, exact=0, f1=0.0), _result()]
  groups = score_groups.by_answerability(results)
  assert [(g.name, g.questions, g.f1) for g in groups] == [
    ("answerable", 2, 100.0),
    ("unanswerable", 1, 0.0),
  ]


def test_the_confusion_of_no_answer_has_precision_and_recall():
  results = [
    *[_result()] * 4,
    *[_result(prediction="")] * 1,
    *[_result(gold=None)] * 2,
    *[_result(gold=None, prediction="")] * 3,
  ]
  counts = score_groups.no_answer_confusion(results)
  assert (counts.answered, counts.missed) == (4, 1)
  assert (counts.invented, counts.refused) == (2, 3)
  assert counts.precision == 3 / 4
  assert counts.recall == 3 / 5
  nothing = score_groups.no_answer_confusion(results[:4])
  assert (nothing.precision, nothing.recall) == (None, None)


def test_the_worst_errors_are_sure_and_far_off():
  sure = _result(exact=0, f1=0.0, probability=0.9)
  nearly = _result(exact=0, f1=0.8, probability=0.9)  # weighs 0.18
  unsure = _result(exact=0, f1=0.0, probability=0.2)
  missing = _result(prediction=None, exact=0, f1=0.0, probability=None)
  results = [_result(), nearly, unsure, missing, sure]
  assert score_groups.worst_errors(results, 9) == [sure, unsure, nearly]
  assert score_groups.worst_errors(results, 2) == [sure, unsure]
  assert score_groups.worst_errors(results[:1], 2) == []
