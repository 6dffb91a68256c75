"""Scores of groups, the confusion of no answer, the worst errors."""

import pytest

from bert_span.reporting import score_groups
from bert_span.reporting.question_results import QuestionResult
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
  (score,) = score_groups.group_scores(results)["Question word"]
  assert score == pytest.approx(("who", 3, 100 / 3, 50.0, 65.0))
  (none,) = score_groups.group_scores(results[2:])["Question word"]
  assert none == ("who", 1, 0.0, 0.0, None)


@pytest.mark.parametrize(
  ("question", "word"),
  [
    ("Who came?", "who"),
    ("With WHOM did she speak?", "who"),
    ("In what year did whoever came leave?", "what"),
    ("How  many came?", "how many, how much"),
    ("how much is it", "how many, how much"),
    ("However, how is it?", "how"),
    ("Name the mill.", "other"),
    ("Où est-il ?", "other"),
    ("", "other"),
  ],
)
def test_a_question_has_the_group_of_its_first_question_word(question, word):
  assert score_groups.question_word(question) == word


def _sizes(results, caption, num_windows=None):
  groups = score_groups.group_scores(results, num_windows)[caption]
  return [(group.name, group.questions) for group in groups]


def test_groups_by_question_word_are_ordered_by_size():
  questions = ["Why?", "Who?", "Name it.", "Who?", "Why?", "Why not?"]
  results = [_result(question=question) for question in questions]
  assert _sizes(results, "Question word") == [
    ("why", 3),
    ("who", 2),
    ("other", 1),
  ]


def test_groups_by_length_count_words_of_the_first_answer():
  golds = ["a b", None, "one", "a b c", "a b c d", "a b c d e", "x " * 9, "two"]
  results = [_result(gold=gold) for gold in golds]
  assert _sizes(results, "Length of the answer") == [
    ("1 word", 2),
    ("2 words", 1),
    ("3-4 words", 2),
    ("5-8 words", 1),
    ("9 words or more", 1),
    ("no answer", 1),
  ]


def test_groups_by_windows_are_in_order():
  results = [_result()] * 6
  assert _sizes(results, "Windows of the passage", [2, 1, 0, 9, 5, 1]) == [
    ("0 windows", 1),
    ("1 window", 2),
    ("2 windows", 1),
    ("5 windows or more", 2),
  ]
  assert "Windows of the passage" not in score_groups.group_scores(results)


def test_groups_by_answerability_need_both_kinds():
  results = [_result(), _result(gold=None), _result()]
  assert _sizes(results, "Answerable or not") == [
    ("answerable", 2),
    ("unanswerable", 1),
  ]
  assert "Answerable or not" not in score_groups.group_scores(results[:1])


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


def test_the_worst_errors_are_confident_and_far_off():
  sure = _result(exact=0, f1=0.0, probability=0.9)
  nearly = _result(exact=0, f1=0.8, probability=0.9)  # weighs 0.18
  unsure = _result(exact=0, f1=0.0, probability=0.2)
  missing = _result(prediction=None, exact=0, f1=0.0, probability=None)
  results = [_result(), nearly, unsure, missing, sure]
  assert score_groups.worst_errors(results, 9) == [sure, unsure, nearly]
  assert score_groups.worst_errors(results, 2) == [sure, unsure]
  assert score_groups.worst_errors(results[:1], 2) == []
