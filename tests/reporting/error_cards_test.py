"""The worst errors as HTML."""

import re

from report_samples import HOSTILE

from bert_span.answers.files.prediction_reader import ListedAnswer
from bert_span.reporting.error_cards import (
  error_card,
  error_table,
  marked_passage,
)
from bert_span.reporting.question_results import QuestionResult
from bert_span.squad.example import Answer, SquadExample

_CONTEXT = "Ada met Bea & Cleo."


def _result(golds=("Bea",), prediction="Ada", span=(0, 3), **fields):
  answers = tuple(Answer(text, _CONTEXT.find(text)) for text in golds)
  example = SquadExample(
    "q1", "Whom?", _CONTEXT, answers, not golds, "People", **fields
  )
  n_best = (ListedAnswer(prediction, 0.75), ListedAnswer("Cleo", 0.25))
  return QuestionResult(example, prediction, 0, 0.4, 0.75, span, n_best)


def test_annotators_and_model_are_marked_in_the_passage():
  assert marked_passage(_result()) == (
    '<mark class="model" data-label="model">Ada</mark> met '
    '<mark class="annotators" data-label="annotators">Bea</mark> &amp; Cleo.'
  )
  assert marked_passage(_result(("Ada",))) == (
    '<mark class="both" data-label="both">Ada</mark> met Bea &amp; Cleo.'
  )


def test_answers_that_stand_nowhere_are_not_marked():
  result = _result(("Eve",), "", None)
  assert marked_passage(result) == "Ada met Bea &amp; Cleo."


def test_a_card_tells_question_answers_and_other_answers():
  card = error_card(3, _result(("Bea", "Bea", "Bea & Cleo")))
  assert card.startswith('<article id="error-3"')
  assert "3. Whom?</h3>" in card
  assert "People, question q1" in card
  assert '<dd dir="auto">Bea; Bea &amp; Cleo</dd>' in card
  assert "75.0 % probable, F1 40" in card
  assert re.findall(r'<li dir="auto">(.*?) <', card) == ["Ada", "Cleo"]


def test_no_answer_is_said():
  card = error_card(1, _result((), "", None))
  assert card.count("(no answer)") == 3  # annotators, model, its list


def test_many_annotators_are_counted():
  golds = [f"a{i}" for i in range(9)]
  assert "a4; and 4 more</dd>" in error_card(1, _result(golds))


def test_the_table_leads_to_the_cards():
  table = error_table([_result(), _result(prediction="Cleo")])
  assert re.findall(r'<a href="#(.*?)">(.*?)</a>', table) == [
    ("error-1", "1"),
    ("error-2", "2"),
  ]
  assert ">Cleo</td>" in table


def test_hostile_and_endless_texts_are_harmless():
  context = HOSTILE + "x" * 100_000
  example = SquadExample(
    HOSTILE * 999, HOSTILE * 999, context, (Answer(context, 0),), title=HOSTILE
  )
  n_best = tuple(ListedAnswer(f"{i}{context}", 0.1) for i in range(99))
  result = QuestionResult(
    example, context, 0, 0.0, 0.5, (0, len(context)), n_best
  )
  card = error_card(1, result)
  assert not re.search(r"<(script|img)", card + error_table([result]))
  assert "characters left out]" in card
  assert len(card) < 20_000
