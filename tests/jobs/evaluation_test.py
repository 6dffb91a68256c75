"""Scoring files on disk, SQuAD 1.1 or 2.0 as the data file says."""

import json

import pytest

from bert_span.jobs.evaluation import score_files


def _question(qas_id, *golds, **more):
  context = "The red car was sold in May."
  answers = [{"text": g, "answer_start": context.index(g)} for g in golds]
  return {
    "id": qas_id,
    "question": "What was sold?",
    "answers": answers,
    **more,
  }


def _squad(*questions, version="1.1"):
  paragraph = {"context": "The red car was sold in May.", "qas": questions}
  return {
    "version": version,
    "data": [{"title": "Cars", "paragraphs": [paragraph]}],
  }


@pytest.fixture
def score(tmp_path):
  """A function that writes its arguments to files and scores those."""

  def score_values(squad, predictions, na_probs=None, **options):
    values = {"dev": squad, "predictions": predictions, "na_prob": na_probs}
    paths = {name: tmp_path / f"{name}.json" for name in values}
    for name, path in paths.items():
      path.write_text(json.dumps(values[name]), encoding="utf-8")
    if na_probs is not None:
      options["na_prob_file"] = paths["na_prob"]
    return score_files(paths["dev"], paths["predictions"], **options)

  return score_values


def test_a_file_of_version_1_gets_the_metrics_of_squad_1(score):
  squad = _squad(_question("a", "red car"), _question("b", "May"))
  scores = score(squad, {"a": "The red car", "b": "June"})
  assert scores == {"exact_match": 50.0, "f1": 50.0}


def test_a_file_with_is_impossible_gets_the_metrics_of_squad_2(score):
  squad = _squad(
    _question("a", "red car", is_impossible=False),
    _question("n", is_impossible=True),
    version="v2.0",
  )
  scores = score(squad, {"a": "red car", "n": "May"})
  assert (scores["exact"], scores["NoAns_exact"]) == (50.0, 0.0)
  assert "best_exact" not in scores
  with_na = score(
    squad,
    {"a": "red car", "n": "May"},
    na_probs={"a": 0.1, "n": 0.9},
    na_prob_thresh=0.5,
  )
  assert (with_na["exact"], with_na["best_exact"]) == (100.0, 100.0)
  assert with_na["best_exact_thresh"] == 0.1


def test_integer_ids_meet_the_string_ids_of_the_predictions(score):
  assert score(_squad(_question(17, "May")), {"17": "May"})["f1"] == 100.0


def test_no_answer_scores_for_squad_1_are_ignored_aloud(score, capsys):
  scores = score(_squad(_question("a", "May")), {"a": "May"}, {"a": 9.0})
  assert scores["exact_match"] == 100.0
  assert "na_prob.json" in capsys.readouterr().err


def test_a_threshold_without_no_answer_scores_is_logged(score, capsys):
  squad = _squad(_question("n", is_impossible=True), version="v2.0")
  assert score(squad, {"n": "May"}, na_prob_thresh=-1.0)["exact"] == 100.0
  assert "--na_prob_thresh=-1" in capsys.readouterr().err


def test_files_that_do_not_fit_together_are_named_with_the_question(score):
  squad = _squad(_question("n", is_impossible=True), version="v2.0")
  with pytest.raises(ValueError, match=r"dev\.json.*predictions\.json.*'n'"):
    score(squad, {"other": ""})


def test_files_of_multispanqa_are_scored(tmp_path):
  record = {
    "id": "q1",
    "question": ["who"],
    "context": ["Ada", "met", "Bob"],
    "label": ["B", "O", "B"],
  }
  gold, predicted = tmp_path / "gold.json", tmp_path / "p.json"
  gold.write_text(json.dumps({"data": [record]}))
  predicted.write_text(json.dumps({"q1": ["Bob"]}))
  scores = score_files(gold, predicted, multi_span=True)
  assert scores["exact_match_precision"] == 100
  assert scores["exact_match_recall"] == 50
