"""Answers and predictions as objects."""

from bert_span.answers.answer import Answer, Prediction


def test_answers_are_equal_whatever_their_logits():
  answer = Answer("Ada", 0, 3, 6.0, 0.5, start_logit=2.0, end_logit=4.0)
  assert answer == Answer("Ada", 0, 3, 6.0, 0.5)
  assert answer != Answer("Ada", 0, 3, 6.0, 0.5, question_truncated=True)


def test_the_best_answer_is_one_of_a_list_only_if_more_are_asked_for():
  ada, nothing = Answer("Ada", 0, 3, 6.0, 0.75), Answer("", 0, 0, 1.0, 0.25)
  prediction = Prediction("q", nothing, (ada, nothing), ())
  assert prediction.best(1) == nothing
  assert prediction.best(2) == prediction.best(9) == [ada, nothing]
  assert (ada.is_answerable, nothing.is_answerable) == (True, False)
