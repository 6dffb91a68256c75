"""How differences between the Task Library's answers and ours are explained."""

import dataclasses

import pytest
import task_library_causes as causes


@dataclasses.dataclass(frozen=True)
class _Prediction:
  text: str
  char_start: int
  char_end: int
  score: float
  n_best: tuple = ()


_CONTEXT = "Built in 1895, by Anna."
_YEAR = _Prediction("1895", 9, 13, 5.0)
_ANNA = _Prediction("Anna", 18, 22, 5.0)
_ANNA_SECOND = _Prediction("1895", 9, 13, 5.0, (_YEAR, _ANNA))
_ANNA_FAR = _Prediction("1895", 9, 13, 6.0, (_YEAR, _ANNA))


@pytest.mark.parametrize(
  ("our", "text", "score", "expected"),
  [
    (_YEAR, "1895", 5.0, causes.SAME),
    (_YEAR, "1895,", 5.0, causes.WHOLE_WORDS),
    (_ANNA, "Anna.", 5.0, causes.WHOLE_WORDS),
    (_YEAR, "", 0.0, causes.CANDIDATES),
    (_YEAR, "Built", 4.0, causes.CANDIDATES),
    (_YEAR, "Built in 1895, by Anna.", 6.0, causes.LONGER),
    (_ANNA_SECOND, "Anna.", 4.5, causes.ROUNDING),
    (_ANNA_SECOND, "Anna.", 5.0, causes.ROUNDING),
    (_ANNA_FAR, "Anna.", 5.0, causes.CANDIDATES),
    (_YEAR, "Built", 5.0, causes.UNKNOWN),
  ],
)
def test_a_difference_has_a_cause_or_is_called_unknown(
  our, text, score, expected
):
  assert causes.cause(_CONTEXT, our, text, score) == expected
