"""MultiSpanQA's exact and partial match, by hand."""

import pytest

from bert_span.answers.scoring.squad_scores import evaluate_multi_span
from bert_span.squad.example import Answer, SquadExample


def _example(qas_id, *annotators, **more):
  spans = tuple(tuple(Answer(t, 0) for t in texts) for texts in annotators)
  return SquadExample(qas_id, "q", "c", annotations=spans, **more)


def _scores(pairs):
  """Scores of (gold texts of one annotator, predicted texts) by question."""
  examples = [_example(str(i), gold) for i, (gold, _) in enumerate(pairs)]
  predictions = {str(i): texts for i, (_, texts) in enumerate(pairs)}
  return evaluate_multi_span(examples, predictions)


def test_the_example_of_the_docstring():
  scores = _scores([(["old mill", "river"], ["the old mill house"])])
  assert scores["exact_match_f1"] == 0
  assert scores["overlap_precision"] == pytest.approx(100 * 8 / 14)
  assert scores["overlap_recall"] == pytest.approx(100 * (1 + 1 / 5) / 2)


def test_exact_match_is_summed_over_questions():
  """2 of 3 predicted, 2 of 4 gold spans."""
  scores = _scores(
    [(["a1", "b1", "c1"], ["A1!", "x1"]), (["d1"], ["the d1", "d1"])]
  )
  assert scores["exact_match_precision"] == pytest.approx(100 * 2 / 3)
  assert scores["exact_match_recall"] == pytest.approx(100 * 2 / 4)
  assert scores["exact_match_f1"] == pytest.approx(100 * 4 / 7)


def test_perfect_and_empty_predictions():
  gold = ["one", "two"]
  assert set(_scores([(gold, gold[::-1])]).values()) == {100}
  assert set(_scores([(gold, [])]).values()) == {0}


def test_no_answer_counts_as_one_span():
  right = _scores([([], [])])
  assert set(right.values()) == {100}
  half = _scores([([], []), ([], ["x"])])
  assert half["exact_match_f1"] == half["overlap_f1"] == 50


def test_the_annotator_who_suits_best_counts():
  example = _example("q", ["north"], ["south", "east"])
  scores = evaluate_multi_span([example], {"q": ["east", "south"]})
  assert set(scores.values()) == {100}


def test_answers_and_impossible_questions_are_annotators_too():
  examples = [
    SquadExample("a", "q", "c", (Answer("x", 0), Answer("y", 0))),
    SquadExample("b", "q", "c", is_impossible=True),
  ]
  scores = evaluate_multi_span(examples, {"a": ["y"], "b": []})
  assert set(scores.values()) == {100}


def test_a_missing_prediction_is_no_answer():
  assert evaluate_multi_span([_example("q", ["x"])], {})["overlap_f1"] == 0


def test_questions_without_an_annotator_are_named():
  with pytest.raises(ValueError, match="q7"):
    evaluate_multi_span([SquadExample("q7", "q", "c")], {"q7": []})
