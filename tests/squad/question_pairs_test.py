"""Questions and passages, checked where they enter."""

import numpy as np
import pytest

from bert_span import Answer, AnswerSpan, SquadExample
from bert_span.squad.example import question_pairs


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_two_texts_or_two_lists_are_pairs(form):
  assert question_pairs("q", "c") == [("q", "c")]
  pairs = question_pairs(form(["q", "r"]), form(["c", "d"]))
  assert pairs == [("q", "c"), ("r", "d")]
  assert question_pairs(form(["q", "r"]), "c") == [("q", "c"), ("r", "c")]


@pytest.mark.parametrize(
  ("question", "context", "name"),
  [
    ("q", ["c"], "question and context"),
    (["q"], b"c", "question and context"),
    (["q", "r"], ["c"], "2 and 1"),
    (None, None, "question"),
    ("q", 7, "context"),
    (b"q", b"c", "question"),
    (["q", "r"], ["c", None], r"context\[1\]"),
    (["q", "r"], ["c", float("nan")], r"context\[1\].*nan"),
    (["q", b"r"], ["c", "d"], r"question\[1\]"),
  ],
)
def test_what_is_no_text_is_refused_with_its_index(question, context, name):
  with pytest.raises(ValueError, match=name):
    question_pairs(question, context)


@pytest.mark.parametrize(
  "answers",
  [
    (Answer("Anna", 22, 26, 1.0, 1.0, -1.0),),
    AnswerSpan("Anna", 22),
    (("Anna", 22),),
    "Anna",
  ],
)
def test_the_type_of_a_labelled_answer_is_named(answers):
  for wrong in ({"answers": answers}, {"annotations": (answers,)}):
    with pytest.raises(ValueError, match=r"'q1'.*AnswerSpan\(text, char_start"):
      SquadExample("q1", "Who?", "Anna", **wrong)
