"""Scoring files on disk, SQuAD 1.1 or 2.0 as the data file says."""

import json

import pytest

from bert_span.evaluate import EvaluateOptions
from bert_span.jobs.evaluate import evaluate
from tests.support.squad import spans, squad_content

_CONTEXT = "The red car was sold in May."


def _question(qas_id, *golds, context=_CONTEXT, **more):
  answers = spans(*((gold, context.index(gold)) for gold in golds))
  return {"id": qas_id, "question": "What?", "answers": answers, **more}


_IMPOSSIBLE = _question("n", is_impossible=True)
_SQUAD2 = squad_content(_CONTEXT, _question("a", "red car"), _IMPOSSIBLE)


def _write(folder, *values):
  """Writes values to files; returns their paths by flag."""
  paths = {}
  names = ("predict_file", "predictions_file", "na_prob_file")
  for name, value in zip(names, values, strict=False):
    paths[name] = folder / f"{name}.json"
    paths[name].write_text(json.dumps(value))
  return paths


@pytest.fixture
def score(tmp_path):
  """A function that scores its arguments in files."""
  return lambda *values, **options: evaluate(
    EvaluateOptions(**_write(tmp_path, *values), **options)
  )


def test_stdout_is_one_json_object_and_stderr_has_the_table(
  score, tmp_path, capsys
):
  predictions, odds = {"a": "the red car", "n": "May"}, {"a": -2.0, "n": 3.0}
  output_file = tmp_path / "out.json"
  scores = score(
    *(_SQUAD2, predictions, odds), na_prob_thresh=0.0, output_file=output_file
  )
  assert (scores["exact"], scores["best_exact"]) == (100.0, 100.0)
  assert scores["best_f1_thresh"] == -2.0
  printed = capsys.readouterr()
  assert (
    json.loads(printed.out) == json.loads(output_file.read_text()) == scores
  )
  rows = [line.split() for line in printed.err.splitlines()]
  assert ["unanswerable", "100.00", "100.00", "1"] in rows
  assert ["best", "threshold", "-2.000", "-2.000"] in rows


def test_the_data_decides_on_the_metrics_of_squad_1_or_2(score):
  # Integer ids are the string ids of the predictions.
  questions = _question(17, "red car"), _question("b", "May")
  squad = squad_content(_CONTEXT, *questions)
  scores = score(squad, {"17": "The red car", "b": "June"})
  assert scores == {"exact_match": 50.0, "f1": 50.0}
  scores = score(_SQUAD2, {"a": "red car", "n": "May"})
  assert (scores["exact"], scores["NoAns_exact"]) == (50.0, 0.0)
  assert "best_exact" not in scores


def test_what_the_metrics_do_not_use_is_logged(score, capsys):
  squad = squad_content(_CONTEXT, _question("a", "May"))
  scores = score(squad, {"a": "May"}, {"a": 9.0})
  assert scores["exact_match"] == 100.0
  assert "na_prob_file.json" in capsys.readouterr().err
  squad = squad_content(_CONTEXT, _IMPOSSIBLE)
  assert score(squad, {"n": "May"}, na_prob_thresh=-1.0)["exact"] == 100.0
  assert "na_prob_thresh=-1" in capsys.readouterr().err


def test_files_that_do_not_fit_together_are_named_with_the_question(score):
  with pytest.raises(ValueError, match=r"predict_file.*predictions_file.*'n'"):
    score(_SQUAD2, {"a": "red car"})


def test_files_of_multispanqa_are_scored(score):
  context = {"context": ["Ada", "met", "Bob"], "label": ["B", "O", "B"]}
  record = {"id": "q1", "question": ["who"], **context}
  scores = score({"data": [record]}, {"q1": ["Bob"]}, multi_span=True)
  assert scores["exact_match_precision"] == 100
  assert scores["exact_match_recall"] == 50


def test_characters_are_scored_as_words_on_request(score):
  context = "他住在北京。"
  squad = squad_content(context, _question("q", "北京", context=context))
  assert score(squad, {"q": "在北京"})["f1"] == 0
  scores = score(squad, {"q": "在北京"}, characters=True)
  assert scores == {"exact_match": 0, "f1": pytest.approx(80)}
  with pytest.raises(ValueError, match="characters"):
    score(squad, {"q": ["在"]}, characters=True, multi_span=True)
