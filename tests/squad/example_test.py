"""Questions, passages and answers, checked where they enter and located."""

import numpy as np
import pytest

from bert_span import Answer, AnswerSpan, SquadExample
from bert_span.squad.example import (
  NOT_LOCATED,
  check_located,
  locate_answer,
  question_pairs,
)


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
    with pytest.raises(ValueError, match=r"'q1'.*AnswerSpan\(text"):
      SquadExample("q1", "Who?", "Anna", **wrong)


_BEES, _NECTAR = AnswerSpan("Bees", 0), AnswerSpan("nectar", 25)


@pytest.mark.parametrize(
  ("fields", "annotators", "is_unlabelled"),
  [
    ({}, (), True),
    ({"answers": (_BEES, _NECTAR)}, ((_BEES,), (_NECTAR,)), False),
    ({"annotations": ((_BEES, _NECTAR), ())}, ((_BEES, _NECTAR), ()), False),
    ({"answers": (_BEES,), "is_impossible": True}, ((),), False),
  ],
)
def test_annotators_of_answers_annotations_and_no_answer(
  fields, annotators, is_unlabelled
):
  example = SquadExample("q1", "Who?", "Bees", **fields)
  assert example.annotators == annotators
  assert example.is_unlabelled is is_unlabelled


def test_an_answer_must_be_at_its_offset_where_none_is_located():
  check_located("Bees dance", "dance", 5, "row 3")
  for text, start in (("dance", 4), ("dance", -5), ("", 5)):
    with pytest.raises(ValueError, match=f"row 3: .*{text}.*{start}"):
      check_located("Bees dance", text, start, "row 3")


#          0         1
#          0123456789012345678
_PLANS = "the plan and a plan"


@pytest.mark.parametrize(
  ("passage", "text", "stated", "located"),
  [
    (_PLANS, "plan", 4, 4),  # as stated
    (_PLANS, "plan", 15, 15),  # as stated, though it is not the first
    (_PLANS, "and", 0, 9),  # only once in the passage
    (_PLANS, "and", 10**30, 9),
    (_PLANS, "plan", 3, 4),  # " pla" touches "the plan"
    (_PLANS, "plan", 5, 4),  # "lan " touches "plan "
    (_PLANS, "plan", 16, 15),  # "lan" is cut by the end
    (_PLANS, "plan", 0, NOT_LOCATED),  # "the " touches "the ": which plan?
    ("un-un and un", "un", 1, NOT_LOCATED),  # "n-" touches two of them
    (_PLANS, "plan", -3, NOT_LOCATED),
    (_PLANS, "plot", 4, NOT_LOCATED),
    (_PLANS, " ", 3, NOT_LOCATED),
    (_PLANS, "the plan and a plan.", 0, NOT_LOCATED),  # longer than the passage
    ("x aaa", "aa", 0, NOT_LOCATED),  # Overlapping occurrences are several.
    ("😀😀 yes", "yes", 5, 3),  # characters beyond the basic plane
    ("", "yes", 0, NOT_LOCATED),
    ("by Marta\nSolberg.", "Marta Solberg", 3, 3),  # as run_squad compares
    ("bought in  Oslo.", "in Oslo", 7, 7),
    ("bought in\u202fOslo.", " in\t Oslo ", 0, 7),
    ("in\u00a0Oslo", "in Oslo", 0, NOT_LOCATED),  # one word for run_squad
  ],
)
def test_answer_is_where_it_can_only_be_meant(passage, text, stated, located):
  answer, detail = locate_answer(passage, text, stated)
  assert answer.char_start == located
  assert bool(detail) == (located != stated)
  if located == NOT_LOCATED:
    assert answer.text == text
  else:
    assert answer.text.split() == text.split()
    assert passage.startswith(answer.text, located)
