"""Scores as sections."""

import re

from bert_span.reporting import score_sections
from bert_span.reporting.question_results import QuestionResult
from bert_span.squad.example import Answer, SquadExample


def _result(gold="Ada", prediction="Ada", exact=1, probability=0.5):
  answers = (Answer(gold, 0),) if gold else ()
  example = SquadExample("q", "Who?", "Ada.", answers, not gold)
  return QuestionResult(example, prediction, exact, float(exact), probability)


def _tiles(section):
  return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", section.content))


def _captions(section):
  return re.findall(r"<caption>(.*?)</caption>", section.content)


def test_the_official_scores_stand_first():
  section = score_sections.overview_section(
    [_result()] * 1200, {"exact_match": 61.54, "f1": 72.268}, 0.0422
  )
  assert list(_tiles(section).items()) == [
    ("EM", "61.54"),
    ("F1", "72.27"),
    ("Questions", "1,200"),
    ("Calibration error", "4.22"),
  ]
  assert "without a prediction" not in section.content


def test_scores_of_squad_2_are_told_apart():
  scores = {"exact": 50.0, "f1": 60.0, "total": 2, "NoAns_f1": 40.0}
  scores |= {"HasAns_exact": 55.0, "HasAns_f1": 75.0, "NoAns_exact": 40.0}
  section = score_sections.overview_section([_result()], scores, None)
  assert _tiles(section) == {
    "EM": "50.00",
    "F1": "60.00",
    "EM, answerable": "55.00",
    "F1, answerable": "75.00",
    "F1, unanswerable": "40.00",
    "Questions": "1",
  }


def test_questions_without_prediction_are_counted():
  results = [_result(), _result(prediction=None, exact=0, probability=None)]
  scores = {"exact_match": 50.0, "f1": 50.0}
  section = score_sections.overview_section(results, scores, 0.5)
  assert "1 question without a prediction, counted 0" in section.content


def test_groups_that_say_nothing_are_left_out():
  results = [_result(), _result()]
  section = score_sections.groups_section(results)
  assert _captions(section) == ["Question word", "Length of the answer"]
  assert "give --model" in section.content
  results[0] = _result(gold=None)
  section = score_sections.groups_section(results, [1, 3])
  assert _captions(section)[2:] == [
    "Answerable or not",
    "Windows of the passage",
  ]
  assert "3 windows</th>" in section.content
  assert "give --model" not in section.content


def test_the_confusion_is_a_table_with_its_rates():
  results = [
    *[_result()] * 5,
    *[_result(prediction="")] * 1,
    *[_result(gold=None)] * 2,
    *[_result(gold=None, prediction="")] * 3,
  ]
  content = score_sections.no_answer_section(results).content
  assert re.findall(r'data-value="(\d)"', content) == ["5", "1", "2", "3"]
  assert "right in 75.0 % of the cases" in content
  assert "said for 60.0 % of the questions" in content
  content = score_sections.no_answer_section(results[:5]).content
  assert "right in none of the cases" in content
