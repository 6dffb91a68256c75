"""Questions scored one by one and in groups."""

import pytest

from bert_span.answers.answer import Answer
from bert_span.reporting import question_results as results_lib
from bert_span.reporting.question_results import QuestionResult, group_scores
from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.squad.reader import SquadFile

_CONTEXT = "Ada met Bea. Bea met Ada."


def _example(qas_id, *golds):
  answers = tuple(AnswerSpan(gold, _CONTEXT.find(gold)) for gold in golds)
  return SquadExample(qas_id, "Who?", _CONTEXT, answers, not golds)


def _entry(text, probability, start=None, end=None):
  return Answer(text, start, end, None, probability)


def _results(n_best, predictions, *examples):
  file = SquadFile("dev.json", examples, False)
  return results_lib.question_results(file, n_best, predictions)


def test_a_result_has_the_probability_and_the_place_of_the_prediction():
  entries = ("Ada", 0.6, 21, 24), ("Bea met", 0.4, 13, 20)
  n_best = {"q": tuple(_entry(*entry) for entry in entries)}
  example = _example("q", "Bea", "Bea met Ada")
  (result,) = _results(n_best, {"q": "Bea met"}, example)
  # "bea met" and "bea met ada": precision 1, recall 2/3.
  values = 0, pytest.approx(0.8), 0.4, (13, 20), n_best["q"]
  assert result == QuestionResult(example, "Bea met", *values)
  assert result.has_answer


def test_without_offsets_the_place_is_the_first_one_of_the_text():
  n_best = {
    "a": (_entry("Bea", 0.6), _entry("Ada", 0.4, 0, 3)),
    "b": (_entry("Eve", 1.0),),
  }
  texts = {"a": "Bea", "b": "Eve"}
  results = _results(n_best, texts, _example("a", "Bea"), _example("b", "Ada"))
  bea, eve = ((r.prediction, r.exact, r.f1, r.span) for r in results)
  assert (bea, eve) == (("Bea", 1, 1.0, (8, 11)), ("Eve", 0, 0.0, None))
  (missing,) = _results({}, {}, _example("q", "Ada"))
  assert (missing.prediction, missing.exact, missing.f1) == (None, 0, 0.0)


def test_files_that_do_not_fit_are_refused():
  for entry, prediction, named in (
    (("Ada", 1.0, 0, 3), "Bea", "'q'"),  # of another run
    (("Ada", 1.0, 8, 11), "Ada", r"'q': .*'Ada'.* 8 to 11"),  # passage
  ):
    n_best = {"q": (_entry(*entry),)}
    with pytest.raises(ValueError, match=named):
      _results(n_best, {"q": prediction}, _example("q", "Ada"))


def _result(exact=1, f1=1.0, p=0.5, gold="Ada", question=""):
  answers = (AnswerSpan(gold, 0), AnswerSpan("Ada and all of the others", 0))
  example = SquadExample("q", question, "Ada.", answers if gold else ())
  return QuestionResult(example, None if p is None else "Ada", exact, f1, p)


def test_a_group_is_averaged_in_percent():
  results = [_result(1, 1.0, 0.9), _result(0, 0.5, 0.4), _result(0, 0.0, None)]
  (score,) = group_scores(results)["Question word"]
  assert score == pytest.approx(("other", 3, 100 / 3, 50.0, 65.0))
  (none,) = group_scores(results[2:])["Question word"]
  assert none == ("other", 1, 0.0, 0.0, None)


def test_a_question_has_the_group_of_its_first_question_word():
  for question, word in (
    ("With WHOM did she speak?", "who"),
    ("In what year did the man who came leave?", "what"),
    ("How  many came?", "how many, how much"),
    ("However, how is it?", "how"),
    ("Name the mill.", "other"),
  ):
    assert results_lib.question_word(question) == word


_BY_WINDOWS = "Windows of the passage"


def _sizes(results, caption, num_windows=None):
  groups = group_scores(results, num_windows)[caption]
  return [(group.name, group.questions) for group in groups]


def test_groups_are_in_order():
  questions = ["Why?", "Who?", "Name it.", "Who?", "Why?", "Why not?"]
  results = [_result(question=question) for question in questions]
  by_size = [("why", 3), ("who", 2), ("other", 1)]
  assert _sizes(results, "Question word") == by_size
  results = [_result(gold=gold) for gold in ("a b c", None, "one", "x " * 9)]
  assert _sizes(results, "Length of the answer") == [
    *(("1 word", 1), ("3-4 words", 1), ("9 words or more", 1)),
    ("no answer", 1),
  ]
  results = [_result()] * 5
  sizes = [("1 window", 2), ("2 windows", 1), ("5 windows or more", 2)]
  assert _sizes(results, _BY_WINDOWS, [2, 1, 9, 5, 1]) == sizes
  # One kind of question is no group.
  assert "Answerable or not" not in group_scores(results)
  assert _BY_WINDOWS not in group_scores(results)


def test_the_worst_errors_are_confident_and_far_off():
  sure, unsure = _result(0, 0.0, 0.9), _result(0, 0.0, 0.2)
  nearly = _result(0, 0.8, 0.9)  # weighs 0.18
  results = [_result(), nearly, unsure, _result(0, 0.0, None), sure]
  assert results_lib.worst_errors(results, 9) == [sure, unsure, nearly]
  assert results_lib.worst_errors(results, 2) == [sure, unsure]
