"""Rows of outputs become answers, or are refused by what is wrong with them."""

import pytest

from bert_span.client.served_answer import ServedAnswer, prediction_of_row
from tests.support.servers import output_row, span_row


def _served(text, place, in_bytes, score, probability):
  """The `ServedAnswer` in a row of `output_row` or `span_row`."""
  start, end = in_bytes
  return ServedAnswer(
    *(text, *place, score, probability, -3.5), byte_start=start, byte_end=end
  )


def test_a_row_of_a_span_head_has_an_answer_and_an_n_best_list():
  row = output_row("É Ada came.", [("Ada", 0.75), ("", 0.25)])
  row["question_truncated"] = True
  found = prediction_of_row(row, "É Ada came.", "q1")
  ada = _served("Ada", (2, 5), (3, 6), 7.5, 0.75)
  ada.question_truncated = True
  assert (found.qas_id, found.answer, found.spans) == ("q1", ada, (ada,))
  no_answer = found.n_best[1]
  assert (no_answer.text, no_answer.is_answerable) == ("", False)
  assert (no_answer.score, no_answer.probability) == (-1.5, 0.25)


def test_a_row_of_a_bio_head_has_spans_by_position_and_the_best_first():
  context = "É Ada came, and Bea."
  row = span_row(context, [("Ada", 0.25), ("Bea", 0.5)])
  found = prediction_of_row(row, context)
  first = _served("Ada", (2, 5), (3, 6), 2.5, 0.25)
  second = _served("Bea", (16, 19), (17, 20), 5.0, 0.5)
  assert found.spans == (first, second)
  assert (found.answer, found.n_best) == (second, (second, first))
  found = prediction_of_row(span_row("", []), "")
  assert (found.answer.text, found.spans) == ("", ())


def _row(**changes):
  return {**output_row("a", [("a", 1.0)]), **changes}


@pytest.mark.parametrize(
  ("row", "named"),
  [
    (7, "int"),
    ({"logits": 1}, "n_best_count, .*logits"),
    ({"span_count": 1}, "span_text, .*span_probability"),
    (_row(n_best_count=None), "None"),
    (_row(n_best_count=9), "n_best_count, 9"),
    (_row(n_best_score=0.5), "n_best_score"),
    (_row(byte_end=-1), "byte_end is -1"),
    (_row(char_end=True), "char_end is True"),
    (_row(char_end=7, answer="b"), "'b' .* 0 to 7"),
    (_row(answer=None), "answer is None"),
    (_row(probability=float("nan")), "probability is nan"),
    (_row(n_best_probability=[2] * 8), "n_best_probability is 2"),
    (_row(is_answerable="no"), "is_answerable is 'no'"),
    (_row(is_answerable=False), "is_answerable .* 'a'"),
    (_row(n_best_is_answerable=[False] * 8), "is_answerable .* 'a'"),
    (_row(n_best_count=2, n_best_is_answerable=[True] * 8), "''"),
  ],
)
def test_a_row_of_something_else_is_refused_by_what_is_wrong(row, named):
  with pytest.raises(ValueError, match=named):
    prediction_of_row(row, "a")
