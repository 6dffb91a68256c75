"""The official metrics of SQuAD and MultiSpanQA, against hand-made cases.

tests/conformance compares normalization, pairs and whole evaluations
with the official evaluators.
"""

import pytest

from bert_span.scoring.squad_scores import (
  evaluate_multi_span,
  evaluate_squad1,
  evaluate_squad2,
  normalize_characters,
  official_scores,
  question_scores,
)
from bert_span.squad.example import AnswerSpan, SquadExample
from bert_span.squad.reader import SquadFile


def _example(qas_id, *golds):
  answers = tuple(AnswerSpan(gold, 0) for gold in golds)
  return SquadExample(qas_id, "q", "c", answers, is_impossible=not golds)


_EXAMPLES = [_example("a", "red car"), _example("b", "x"), _example("n")]
_PREDICTIONS = {"a": "red car", "b": "x", "n": "guess"}


def test_a_kind_of_question_that_does_not_occur_has_no_figures():
  only_answerable = evaluate_squad2(_EXAMPLES[:1], {"a": "z"})
  assert "NoAns_exact" not in only_answerable
  only_unanswerable = evaluate_squad2(_EXAMPLES[2:], {"n": "z"})
  assert only_unanswerable["NoAns_exact"] == 0.0
  assert "HasAns_exact" not in only_unanswerable


def test_answers_that_normalize_to_nothing_are_left_out():
  kept, none_left = _example("q", "The", "word"), _example("q", "The")
  assert question_scores(kept, "", version_2=True) == (0, 0)
  assert question_scores(none_left, "", version_2=True) == (1, 1)
  assert evaluate_squad2([none_left], {"q": ""})["HasAns_exact"] == 100


def test_equal_no_answer_scores_are_admitted_in_the_order_of_na_probs():
  # 1, +1, +1, -1: the maximum lies inside the group. Then 1, -1, +1, +1.
  for order, best in (("abn", 100.0), ("nba", 200 / 3)):
    na_probs = dict.fromkeys(order, 0.3)
    scores = evaluate_squad2(_EXAMPLES, _PREDICTIONS, na_probs)
    assert scores["best_exact"] == pytest.approx(best)


def test_best_exact_can_be_below_exact_for_an_article_as_prediction():
  # "the " scores as no answer, but the search takes it for an answer.
  predictions = {**_PREDICTIONS, "n": "the "}
  na_probs = {"n": 0.1, "a": 0.2, "b": 0.3}
  scores = evaluate_squad2(_EXAMPLES, predictions, na_probs)
  assert scores["exact"] == 100.0
  assert scores["best_exact"] == pytest.approx(200 / 3)
  assert scores["best_exact_thresh"] == 0.3


def test_a_repeated_question_id_counts_twice_in_squad1_and_last_in_squad2():
  examples = [_example("q", "x"), _example("q", "y"), _example("n", "x")]
  scores = evaluate_squad1(examples, {"q": "y", "n": ""})
  assert scores["exact_match"] == pytest.approx(100 / 3)
  scores = evaluate_squad2(examples, {"q": "y", "n": "x"})
  assert (scores["exact"], scores["total"]) == (100.0, 2)


@pytest.mark.parametrize(
  ("evaluate", "arguments", "named"),
  [
    (
      evaluate_squad2,
      ([_example(f"q\n{i}", "x") for i in range(20)], {"q\n0": "x"}),
      r"'q\\n1', .*'q\\n5', \.\.\. \(19 in all",
    ),
    (
      evaluate_squad2,
      ([_example(f"q{i}", "x") for i in range(6)], {"q0": "x"}),
      r"'q5'(?!, \.\.\.)",
    ),
    (
      evaluate_squad2,
      (_EXAMPLES, dict.fromkeys("abn", ""), {"a": 0, "n": 0}),
      "'b'",
    ),
    (
      evaluate_squad2,
      (_EXAMPLES, _PREDICTIONS, {"a": 0, "b": float("nan"), "n": 0}),
      "nan for question b",
    ),
    (evaluate_squad1, ([_example("bare")], {}), "bare"),
    (evaluate_squad1, ([], {}), "at least one question"),
    (evaluate_multi_span, ([SquadExample("q7", "q", "c")], {"q7": []}), "q7"),
  ],
)
def test_what_cannot_be_scored_is_named(evaluate, arguments, named):
  with pytest.raises(ValueError, match=named):
    evaluate(*arguments)


def test_unknown_entries_and_missing_predictions_are_logged(capsys):
  examples = [_example(f"q{i}", "x") for i in range(4)]
  scores = evaluate_squad1(examples, {"q0": "x", "other": "y"})
  assert scores == {"exact_match": 25.0, "f1": 25.0}
  unknown, missing = capsys.readouterr().err.splitlines()
  assert "'other'" in unknown
  assert "'q1', 'q2', 'q3'" in missing
  na_probs = {"a": 0.1, "b": 0.2, "n": 0.3}
  expected = evaluate_squad2(_EXAMPLES, _PREDICTIONS, na_probs)
  assert not capsys.readouterr().err
  more = {"u": "y", **_PREDICTIONS}, {"u": -1.0, "v": 0.0, **na_probs}
  assert evaluate_squad2(_EXAMPLES, *more) == expected


def _with_spans(qas_id, *annotators):
  spans = tuple(tuple(AnswerSpan(t, 0) for t in texts) for texts in annotators)
  return SquadExample(qas_id, "q", "c", annotations=spans)


def _span_scores(pairs):
  """Scores of (gold texts of one annotator, predicted texts) by question."""
  examples = [_with_spans(str(i), gold) for i, (gold, _) in enumerate(pairs)]
  predictions = {str(i): texts for i, (_, texts) in enumerate(pairs)}
  return evaluate_multi_span(examples, predictions)


def test_partial_and_exact_matches_of_spans_by_hand():
  """The example of the docstring; 2 of 3 predicted, 2 of 4 gold spans."""
  scores = _span_scores([(["old mill", "river"], ["the old mill house"])])
  assert scores["exact_match_f1"] == 0
  assert scores["overlap_precision"] == pytest.approx(100 * 8 / 14)
  assert scores["overlap_recall"] == pytest.approx(100 * (1 + 1 / 5) / 2)
  scores = _span_scores(
    [(["a1", "b1", "c1"], ["A1!", "x1"]), (["d1"], ["the d1", "d1"])]
  )
  assert scores["exact_match_precision"] == pytest.approx(100 * 2 / 3)
  assert scores["exact_match_recall"] == pytest.approx(100 * 2 / 4)
  assert scores["exact_match_f1"] == pytest.approx(100 * 4 / 7)


def test_perfect_and_empty_predictions_of_spans():
  for pairs, score in (
    ([(["one", "two"], ["two", "one"])], 100),
    ([(["one", "two"], [])], 0),
    ([([], [])], 100),  # No answer counts as one span.
    ([([], []), ([], ["x"])], 50),
  ):
    scores = _span_scores(pairs)
    assert scores["exact_match_f1"] == scores["overlap_f1"] == score


def test_the_annotator_who_suits_best_counts():
  examples = [
    _with_spans("q", ["north"], ["south", "east"]),
    # Answers and impossible questions are annotators, too.
    *(_example("a", "x", "y"), _example("b")),
  ]
  predictions = {"q": ["east", "south"], "a": ["y"], "b": []}
  scores = evaluate_multi_span(examples, predictions)
  assert set(scores.values()) == {100}
  # A missing prediction is no answer.
  assert evaluate_multi_span(examples[:1], {})["overlap_f1"] == 0


def test_characters_count_as_words_where_a_script_has_no_blanks():
  examples = [
    _example("zh", "北京大学"),
    _example("ja", "東京タワー"),
    _example("th", "กรุงเทพ"),
    _example("mixed", "《The Wire》第2季"),
  ]
  predictions = {
    "zh": "北京的大学，",  # 5 characters, of which 4 are those of the answer
    "ja": "タワー",  # 3 of 5
    "th": "กรุงเทพ",
    "mixed": "the wire 第2季",  # 5 words: the, wire, 第, 2, 季
  }
  squad_file = SquadFile("dev.json", tuple(examples), version_2=False)
  scores = official_scores(squad_file, predictions, characters=True)
  assert scores["exact_match"] == 50
  f1 = 2 * 4 / (5 + 4), 2 * 3 / (3 + 5), 1, 1
  assert scores["f1"] == pytest.approx(100 * sum(f1) / 4)
  # The words are whole answers otherwise, and 《 》 are no ASCII.
  assert official_scores(squad_file, predictions)["f1"] == 25


def test_characters_as_mlqa_scores_chinese():
  # No punctuation of any script and no case; articles remain words.
  normalized = "a café35 萬 個 the"
  assert normalize_characters("“A Café”：3.5萬 個、the") == normalized
  assert normalize_characters("한국 은행") == "한국 은행"
  assert normalize_characters("。") == ""


def test_characters_score_unanswerable_questions_too():
  examples = (_example("a", "北京"), _example("n"))
  squad_file = SquadFile("dev.json", examples, version_2=True)
  scores = official_scores(
    squad_file, {"a": "北", "n": ""}, {"a": 0.1, "n": 0.9}, characters=True
  )
  assert scores["HasAns_f1"] == pytest.approx(100 * 2 / 3)
  assert scores["NoAns_f1"] == 100
  assert scores["best_f1"] == pytest.approx(100 * (2 / 3 + 1) / 2)
