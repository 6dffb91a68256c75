"""What is checked before a training."""

import pytest
from tiny_extractor import CONTEXT, tiny_extractor

from bert_span.squad.example import Answer, SquadExample


@pytest.mark.parametrize("char_start", [-1, 3, 10_000])
def test_an_answer_that_is_not_at_its_place_is_named(char_start):
  answer = Answer("Anna", char_start)
  example = SquadExample("q7", "Who?", CONTEXT, (answer,))
  with pytest.raises(ValueError, match=f"'q7'.*'Anna'.*{char_start}"):
    tiny_extractor().fit([example])
