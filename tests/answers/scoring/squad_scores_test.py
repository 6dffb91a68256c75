"""The official metrics of SQuAD and MultiSpanQA, against hand-made cases."""

import pytest

from bert_span.answers.scoring.squad_scores import (
  answer_f1,
  best_threshold,
  evaluate_multi_span,
  evaluate_squad1,
  evaluate_squad2,
  exact_match,
  normalize_answer,
  question_scores,
)
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


@pytest.mark.parametrize(
  ("prediction", "gold", "squad1", "squad2"),
  [
    ("b b c", "b d", 0.4, 0.4),  # 1 shared token: precision 1/3, recall 1/2
    ("b b c", "b b", 0.8, 0.8),  # 2 shared tokens: precision 2/3, recall 1
    # Two empty answers are right or wrong as a whole, in SQuAD 2.0.
    *(("the", "", 0, 1), ("word", "", 0, 0), ("", "word", 0, 0)),
  ],
)
def test_f1_by_hand(prediction, gold, squad1, squad2):
  assert answer_f1(prediction, gold, False) == pytest.approx(squad1)
  assert answer_f1(prediction, gold, version_2=True) == pytest.approx(squad2)
  assert exact_match(prediction, gold) == (prediction == "the")


def test_each_figure_takes_the_annotator_that_suits_it_best():
  examples = [_example("q1", "red car", "red"), _example("q2", "blue")]
  scores = evaluate_squad1(examples, {"q1": "the Red", "q2": "dark blue"})
  # q1: 1 and 1 with the second annotator. q2: precision 1/2, recall 1.
  assert scores == {
    "exact_match": 50.0,
    "f1": pytest.approx(100 * (1 + 2 / 3) / 2),
  }


def test_missing_and_unknown_predictions_are_logged_once(capsys):
  examples = [_example(f"q{i}", "x") for i in range(4)]
  scores = evaluate_squad1(examples, {"q0": "x", "other": "y"})
  assert scores == {"exact_match": 25.0, "f1": 25.0}
  unknown, missing = capsys.readouterr().err.splitlines()
  assert "1 of 2 predictions" in unknown and "'other'" in unknown
  assert "3 of 4 questions" in missing and "'q1', 'q2', 'q3'" in missing


def test_in_squad1_a_repeated_question_id_counts_twice():
  examples = [_example("q", "x"), _example("q", "y"), _example("r", "x")]
  scores = evaluate_squad1(examples, {"q": "x", "r": "x"})
  assert scores["exact_match"] == pytest.approx(200 / 3)


def test_a_question_without_annotated_answers_is_an_error_with_its_id():
  examples = [_example("good", "x"), _example("bare")]
  with pytest.raises(ValueError, match=r"bare.*is_impossible"):
    evaluate_squad1(examples, {"good": "x", "bare": "y"})


def test_scores_are_averaged_over_all_answerable_and_unanswerable():
  predictions = {"a": "car", "b": "X.", "n": ""}
  scores = evaluate_squad2(_EXAMPLES, predictions)
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
  only_answerable = evaluate_squad2(_EXAMPLES[:1], {"a": "z"})
  assert set(only_answerable) == {
    *("exact", "f1", "total"),
    *("HasAns_exact", "HasAns_f1", "HasAns_total"),
  }
  only_unanswerable = evaluate_squad2(_EXAMPLES[2:], {"n": "z"})
  assert only_unanswerable["NoAns_exact"] == 0.0
  assert "HasAns_exact" not in only_unanswerable


def test_answers_that_normalize_to_nothing_are_left_out():
  kept, none_left = _example("q", "The", "word"), _example("q", "The")
  assert question_scores(kept, "", version_2=True) == (0, 0)
  assert question_scores(none_left, "", version_2=True) == (1, 1)
  assert evaluate_squad2([none_left], {"q": ""})["HasAns_exact"] == 100


@pytest.mark.parametrize(
  ("na_probs", "threshold"),
  [
    ((0.5, 0.6, 0.9), {"na_prob_thresh": 0.5}),  # At the threshold it is kept.
    ((-3.0, 1.5, 4.0), {}),  # The default of 1 applies to log odds, too.
  ],
)
def test_a_score_above_the_threshold_overrules_the_prediction(
  na_probs, threshold
):
  predictions = {"a": "red car", "b": "x", "n": "guess"}
  na_probs = dict(zip("abn", na_probs, strict=True))
  scores = evaluate_squad2(_EXAMPLES, predictions, na_probs, **threshold)
  assert scores["HasAns_exact"] == 50.0
  assert scores["NoAns_exact"] == scores["NoAns_f1"] == 100.0


@pytest.mark.parametrize(
  ("na_probs", "gains", "num_unanswerable", "best"),
  [
    ([0.1, 0.4, 0.7], [1, -1, 0.5], 1, (2.0, 0.1)),  # the worked example
    ([0.1, 0.2, 0.3, 0.4], [1, -1, 1, 0], 0, (1.0, 0.1)),  # the first maximum
    ([-5.0, 3.0], [-1, 1], 7, (7.0, 0.0)),  # No prediction helps.
  ],
)
def test_best_threshold_by_hand(na_probs, gains, num_unanswerable, best):
  assert best_threshold(na_probs, gains, num_unanswerable) == best


def test_equal_no_answer_scores_are_admitted_in_the_order_of_na_probs():
  predictions = {"a": "red car", "b": "x", "n": "guess"}
  gain_first = {"a": 0.3, "b": 0.3, "n": 0.3}
  loss_first = {"n": 0.3, "b": 0.3, "a": 0.3}
  # 1, +1, +1, -1: the maximum lies inside the group.
  first = evaluate_squad2(_EXAMPLES, predictions, gain_first)
  assert first["best_exact"] == pytest.approx(100.0)
  # 1, -1, +1, +1
  last = evaluate_squad2(_EXAMPLES, predictions, loss_first)
  assert last["best_exact"] == pytest.approx(200 / 3)


def test_best_exact_can_be_below_exact_for_an_article_as_prediction():
  # "the " scores as no answer, but the search takes it for an answer.
  predictions = {"a": "red car", "b": "x", "n": "the "}
  na_probs = {"n": 0.1, "a": 0.2, "b": 0.3}
  scores = evaluate_squad2(_EXAMPLES, predictions, na_probs)
  assert scores["exact"] == 100.0
  assert scores["best_exact"] == pytest.approx(200 / 3)
  assert scores["best_exact_thresh"] == 0.3


def test_in_squad2_a_repeated_question_id_counts_once_with_its_last_entry():
  examples = [_example("q", "x"), _example("q", "y"), _example("n")]
  scores = evaluate_squad2(examples, {"q": "y", "n": ""})
  assert scores["exact"] == 100.0
  assert scores["total"] == 2


def test_missing_predictions_and_scores_are_errors_with_the_first_ids():
  examples = [_example(f"q{i}", "x") for i in range(20)]
  with pytest.raises(ValueError, match=r"'q1', .*'q5', \.\.\. \(19 in all"):
    evaluate_squad2(examples, {"q0": "x"})
  with pytest.raises(ValueError, match=r"no-answer scores .*: 'b'\."):
    evaluate_squad2(_EXAMPLES, {"a": "", "b": "", "n": ""}, {"a": 0, "n": 0})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_no_answer_score_that_is_not_finite_is_an_error(value):
  predictions = {"a": "", "b": "", "n": ""}
  with pytest.raises(ValueError, match=f"{value} for question b"):
    evaluate_squad2(_EXAMPLES, predictions, {"a": 0.0, "b": value, "n": 0.0})


def test_entries_of_unknown_questions_change_nothing_but_are_logged(capsys):
  predictions = {"a": "red car", "b": "x", "n": "guess"}
  na_probs = {"a": 0.1, "b": 0.2, "n": 0.3}
  expected = evaluate_squad2(_EXAMPLES, predictions, na_probs)
  assert not capsys.readouterr().err
  with_others = evaluate_squad2(
    _EXAMPLES, {"u": "y", **predictions}, {"u": -1.0, "v": 0.0, **na_probs}
  )
  assert with_others == expected
  logged = capsys.readouterr().err
  assert "1 of 4 predictions" in logged
  assert "2 of 5 no-answer scores" in logged


def test_no_questions_at_all_is_an_error():
  for evaluate in (evaluate_squad1, evaluate_squad2, evaluate_multi_span):
    with pytest.raises(ValueError, match="at least one question"):
      evaluate([], {})


def _with_spans(qas_id, *annotators):
  spans = tuple(tuple(Answer(t, 0) for t in texts) for texts in annotators)
  return SquadExample(qas_id, "q", "c", annotations=spans)


def _span_scores(pairs):
  """Scores of (gold texts of one annotator, predicted texts) by question."""
  examples = [_with_spans(str(i), gold) for i, (gold, _) in enumerate(pairs)]
  predictions = {str(i): texts for i, (_, texts) in enumerate(pairs)}
  return evaluate_multi_span(examples, predictions)


def test_the_example_of_the_docstring():
  scores = _span_scores([(["old mill", "river"], ["the old mill house"])])
  assert scores["exact_match_f1"] == 0
  assert scores["overlap_precision"] == pytest.approx(100 * 8 / 14)
  assert scores["overlap_recall"] == pytest.approx(100 * (1 + 1 / 5) / 2)


def test_exact_match_is_summed_over_questions():
  """2 of 3 predicted, 2 of 4 gold spans."""
  scores = _span_scores(
    [(["a1", "b1", "c1"], ["A1!", "x1"]), (["d1"], ["the d1", "d1"])]
  )
  assert scores["exact_match_precision"] == pytest.approx(100 * 2 / 3)
  assert scores["exact_match_recall"] == pytest.approx(100 * 2 / 4)
  assert scores["exact_match_f1"] == pytest.approx(100 * 4 / 7)


def test_perfect_and_empty_predictions():
  gold = ["one", "two"]
  assert set(_span_scores([(gold, gold[::-1])]).values()) == {100}
  assert set(_span_scores([(gold, [])]).values()) == {0}


def test_no_answer_counts_as_one_span():
  right = _span_scores([([], [])])
  assert set(right.values()) == {100}
  half = _span_scores([([], []), ([], ["x"])])
  assert half["exact_match_f1"] == half["overlap_f1"] == 50


def test_the_annotator_who_suits_best_counts():
  example = _with_spans("q", ["north"], ["south", "east"])
  scores = evaluate_multi_span([example], {"q": ["east", "south"]})
  assert set(scores.values()) == {100}


def test_answers_and_impossible_questions_are_annotators_too():
  examples = [
    SquadExample("a", "q", "c", (Answer("x", 0), Answer("y", 0))),
    SquadExample("b", "q", "c", is_impossible=True),
  ]
  scores = evaluate_multi_span(examples, {"a": ["y"], "b": []})
  assert set(scores.values()) == {100}


def test_a_missing_prediction_is_no_answer_and_a_missing_annotator_is_named():
  scores = evaluate_multi_span([_with_spans("q", ["x"])], {})
  assert scores["overlap_f1"] == 0
  with pytest.raises(ValueError, match="q7"):
    evaluate_multi_span([SquadExample("q7", "q", "c")], {"q7": []})
