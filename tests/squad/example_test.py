import pytest

from bert_span.squad.example import NOT_LOCATED, locate_answer

#          0         1
#          0123456789012345678
_PLANS = "the plan and a plan"


@pytest.mark.parametrize(
  ("text", "stated", "located"),
  [
    ("plan", 4, 4),  # as stated
    ("plan", 15, 15),  # as stated, though it is not the first
    ("and", 0, 9),  # only once in the passage
    ("and", 10**30, 9),
    ("plan", 3, 4),  # " pla" touches "the plan"
    ("plan", 5, 4),  # "lan " touches "plan "
    ("plan", 16, 15),  # "lan" is cut by the end
    ("plan", 9, NOT_LOCATED),  # "and " touches "and ": which plan?
    ("plan", 0, NOT_LOCATED),  # "the " touches "the "
    ("plan", -3, NOT_LOCATED),
    ("plot", 4, NOT_LOCATED),
    (" ", 3, NOT_LOCATED),
    ("the plan and a plan.", 0, NOT_LOCATED),  # longer than the passage
  ],
)
def test_answer_is_where_it_can_only_be_meant(text, stated, located):
  location = locate_answer(_PLANS, text, stated)
  assert location.char_start == located
  assert location.moved == (located not in (stated, NOT_LOCATED))
  assert bool(location.detail) == (located != stated)


def test_answers_of_other_passages():
  # Overlapping occurrences are several.
  assert locate_answer("x aaa", "aa", 0).char_start == NOT_LOCATED
  # Characters beyond the basic plane.
  assert locate_answer("😀😀 yes", "yes", 5).char_start == 3
  assert locate_answer("", "yes", 0).char_start == NOT_LOCATED
