"""SQuAD 2.0 metrics against hand-made cases and the official evaluator."""

import pytest

from bert_span.answers.scoring import squad2
from bert_span.squad.example import Answer, SquadExample


def _example(qas_id, *golds):
  return SquadExample(
    qas_id=qas_id,
    question="Who?",
    context=" ".join(golds),
    answers=tuple(Answer(gold, 0) for gold in golds),
    is_impossible=not golds,
  )


_EXAMPLES = [_example("a", "red car"), _example("b", "x"), _example("n")]


def test_f1_of_empty_answers_is_right_or_wrong_as_a_whole():
  assert squad2.answer_f1("the", "") == 1
  assert squad2.answer_f1("word", "") == 0
  assert squad2.answer_f1("", "word") == 0
  assert squad2.answer_f1("b b c", "b d") == pytest.approx(0.4)


def test_scores_are_averaged_over_all_answerable_and_unanswerable():
  predictions = {"a": "car", "b": "X.", "n": ""}
  scores = squad2.evaluate_squad2(_EXAMPLES, predictions)
  assert scores == pytest.approx(
    {
      "exact": 200 / 3,
      "f1": 100 * (2 / 3 + 1 + 1) / 3,
      "total": 3,
      "HasAns_exact": 50.0,
      "HasAns_f1": 100 * (2 / 3 + 1) / 2,
      "HasAns_total": 2,
      "NoAns_exact": 100.0,
      "NoAns_f1": 100.0,
      "NoAns_total": 1,
    }
  )


def test_a_kind_of_question_that_does_not_occur_has_no_figures():
  only_answerable = squad2.evaluate_squad2(_EXAMPLES[:1], {"a": "z"})
  assert set(only_answerable) == {
    *("exact", "f1", "total"),
    *("HasAns_exact", "HasAns_f1", "HasAns_total"),
  }
  only_unanswerable = squad2.evaluate_squad2(_EXAMPLES[2:], {"n": "z"})
  assert only_unanswerable["NoAns_exact"] == 0.0
  assert "HasAns_exact" not in only_unanswerable


def test_answers_that_normalize_to_nothing_are_left_out():
  kept = squad2.score_question(_example("q", "The", "word"), "")
  assert (kept.has_answer, kept.exact, kept.f1) == (True, 0, 0)
  none_left = squad2.score_question(_example("q", "The"), "")
  assert (none_left.has_answer, none_left.exact, none_left.f1) == (True, 1, 1)


def test_a_no_answer_score_above_the_threshold_overrules_the_prediction():
  predictions = {"a": "red car", "b": "x", "n": "guess"}
  na_probs = {"a": 0.5, "b": 0.6, "n": 0.9}
  scores = squad2.evaluate_squad2(
    _EXAMPLES, predictions, na_probs, na_prob_thresh=0.5
  )
  assert scores["HasAns_exact"] == 50.0  # a, at the threshold, is kept
  assert scores["NoAns_exact"] == scores["NoAns_f1"] == 100.0


def test_the_default_threshold_of_one_applies_to_log_odds_too():
  predictions = {"a": "red car", "b": "x", "n": "guess"}
  na_probs = {"a": -3.0, "b": 1.5, "n": 4.0}
  scores = squad2.evaluate_squad2(_EXAMPLES, predictions, na_probs)
  assert scores["HasAns_exact"] == 50.0
  assert scores["NoAns_exact"] == 100.0


def test_best_threshold_follows_the_worked_example():
  best = squad2.best_threshold([0.1, 0.4, 0.7], [1, -1, 0.5], 1)
  assert best == (2.0, 0.1)


def test_best_threshold_takes_the_first_of_equal_maxima():
  best = squad2.best_threshold([0.1, 0.2, 0.3, 0.4], [1, -1, 1, 0], 0)
  assert best == (1.0, 0.1)


def test_best_threshold_is_zero_where_no_prediction_helps():
  assert squad2.best_threshold([-5.0, 3.0], [-1, 1], 7) == (7.0, 0.0)


def test_equal_no_answer_scores_are_admitted_in_the_order_of_na_probs():
  predictions = {"a": "red car", "b": "x", "n": "guess"}
  gain_first = {"a": 0.3, "b": 0.3, "n": 0.3}
  loss_first = {"n": 0.3, "b": 0.3, "a": 0.3}
  evaluate = squad2.evaluate_squad2
  # 1, +1, +1, -1: the maximum lies inside the group.
  first = evaluate(_EXAMPLES, predictions, gain_first)
  assert first["best_exact"] == pytest.approx(100.0)
  # 1, -1, +1, +1
  last = evaluate(_EXAMPLES, predictions, loss_first)
  assert last["best_exact"] == pytest.approx(200 / 3)


def test_best_exact_can_be_below_exact_for_an_article_as_prediction():
  # "the " scores as no answer, but the search takes it for an answer.
  predictions = {"a": "red car", "b": "x", "n": "the "}
  na_probs = {"n": 0.1, "a": 0.2, "b": 0.3}
  scores = squad2.evaluate_squad2(_EXAMPLES, predictions, na_probs)
  assert scores["exact"] == 100.0
  assert scores["best_exact"] == pytest.approx(200 / 3)
  assert scores["best_exact_thresh"] == 0.3


def test_a_repeated_question_id_counts_once_with_its_last_entry():
  examples = [_example("q", "x"), _example("q", "y"), _example("n")]
  scores = squad2.evaluate_squad2(examples, {"q": "y", "n": ""})
  assert scores["exact"] == 100.0
  assert scores["total"] == 2


def test_missing_predictions_and_scores_are_errors_with_the_first_ids():
  examples = [_example(f"q{i}", "x") for i in range(20)]
  with pytest.raises(ValueError, match=r"'q1', .*'q5', \.\.\. \(19 in all"):
    squad2.evaluate_squad2(examples, {"q0": "x"})
  with pytest.raises(ValueError, match=r"na_probs .*: 'b'\."):
    squad2.evaluate_squad2(
      _EXAMPLES, {"a": "", "b": "", "n": ""}, {"a": 0, "n": 0}
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_no_answer_score_that_is_not_finite_is_an_error(value):
  predictions = {"a": "", "b": "", "n": ""}
  with pytest.raises(ValueError, match=f"{value} for question b"):
    squad2.evaluate_squad2(
      _EXAMPLES, predictions, {"a": 0.0, "b": value, "n": 0.0}
    )


def test_entries_of_unknown_questions_change_nothing_but_are_logged(capsys):
  predictions = {"a": "red car", "b": "x", "n": "guess"}
  na_probs = {"a": 0.1, "b": 0.2, "n": 0.3}
  expected = squad2.evaluate_squad2(_EXAMPLES, predictions, na_probs)
  assert not capsys.readouterr().err
  with_others = squad2.evaluate_squad2(
    _EXAMPLES, {"u": "y", **predictions}, {"u": -1.0, "v": 0.0, **na_probs}
  )
  assert with_others == expected
  logged = capsys.readouterr().err
  assert "1 of 4 predictions" in logged
  assert "2 of 5 no-answer scores" in logged


def test_no_questions_at_all_is_an_error():
  with pytest.raises(ValueError, match="at least one question"):
    squad2.evaluate_squad2([], {})
