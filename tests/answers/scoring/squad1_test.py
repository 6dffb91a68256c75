"""SQuAD 1.1 metrics against hand-made cases and the official evaluator."""

import pytest

from bert_span.answers.scoring import squad1
from bert_span.answers.scoring.answer_match import (
  exact_match,
  normalize_answer,
  token_f1,
)
from bert_span.squad.example import Answer, SquadExample


def _example(qas_id, *golds):
  return SquadExample(
    qas_id=qas_id,
    question="Who?",
    context=" ".join(golds),
    answers=tuple(Answer(gold, 0) for gold in golds),
  )


@pytest.mark.parametrize(
  ("text", "normalized"),
  [
    ("The  U.S. Army's\tBand ", "us armys band"),
    ("an a the", ""),
    ("theatre", "theatre"),
    ("a-b", "ab"),  # punctuation goes first, so this "a" is no article
    ("a\u2014b", "\u2014b"),  # the long dash is not ASCII punctuation
    ("\u00c9cole", "\u00e9cole"),
    ("", ""),
  ],
)
def test_normalization_keeps_only_the_words_that_count(text, normalized):
  assert normalize_answer(text) == normalized


def test_f1_counts_repeated_tokens_as_often_as_both_sides_have_them():
  # 1 shared token: precision 1/3, recall 1/2.
  assert token_f1(["b", "b", "c"], ["b", "d"]) == pytest.approx(0.4)
  # 2 shared tokens: precision 2/3, recall 1.
  assert token_f1(["b", "b", "c"], ["b", "b"]) == pytest.approx(0.8)


def test_two_empty_answers_match_exactly_but_have_f1_zero():
  assert exact_match("the", "") == 1
  assert squad1.answer_f1("the", "") == 0


def test_each_figure_takes_the_annotator_that_suits_it_best():
  examples = [_example("q1", "red car", "red"), _example("q2", "blue")]
  scores = squad1.evaluate_squad1(
    examples, {"q1": "the Red", "q2": "dark blue"}
  )
  # q1: 1 and 1 with the second annotator. q2: precision 1/2, recall 1.
  assert scores == {
    "exact_match": 50.0,
    "f1": pytest.approx(100 * (1 + 2 / 3) / 2),
  }


def test_missing_and_unknown_predictions_are_logged_once(capsys):
  examples = [_example(f"q{i}", "x") for i in range(4)]
  scores = squad1.evaluate_squad1(examples, {"q0": "x", "other": "y"})
  assert scores == {"exact_match": 25.0, "f1": 25.0}
  unknown, missing = capsys.readouterr().err.splitlines()
  assert "1 of 2 predictions" in unknown and "'other'" in unknown
  assert "3 of 4 questions" in missing and "'q1', 'q2', 'q3'" in missing


def test_a_repeated_question_id_counts_twice():
  examples = [_example("q", "x"), _example("q", "y"), _example("r", "x")]
  scores = squad1.evaluate_squad1(examples, {"q": "x", "r": "x"})
  assert scores["exact_match"] == pytest.approx(200 / 3)


def test_a_question_without_annotated_answers_is_an_error_with_its_id():
  examples = [_example("good", "x"), _example("bare")]
  with pytest.raises(ValueError, match=r"bare.*is_impossible"):
    squad1.evaluate_squad1(examples, {"good": "x", "bare": "y"})


def test_no_questions_at_all_is_an_error():
  with pytest.raises(ValueError, match="at least one question"):
    squad1.evaluate_squad1([], {})
