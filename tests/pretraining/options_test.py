"""How much is masked, and which options of pre-training need each other."""

import pytest

from bert_span.pretraining.options import (
  MaskedTextOptions,
  MaskingOptions,
  SequenceOptions,
)


def test_the_budget_is_rounded_up_without_an_error_of_floats():
  options = MaskingOptions()
  assert [options.budget(n) for n in (1, 6, 7, 13, 20, 40, 126, 510)] == [
    *(1, 1, 2, 2, 3, 6, 19, 77)
  ]
  assert MaskingOptions(max_predictions=5).budget(510) == 5


def test_a_sequence_has_predictions_for_all_but_its_first_and_last_token():
  options = SequenceOptions(max_seq_length=9, seed=4)
  # 15 % of 7, and not of 9, rounded up.
  assert options.masking_options() == MaskingOptions("span", 2, 4)
  options = SequenceOptions(max_seq_length=9, max_predictions=9)
  assert options.masking_options().max_predictions == 9
  with pytest.raises(ValueError, match=r"max_predictions=10.*max_seq_length=9"):
    SequenceOptions(max_seq_length=9, max_predictions=10)


@pytest.mark.parametrize(
  "text", [{}, {"input_file": ""}, {"input_file": "a", "dataset": "b"}]
)
def test_text_is_named_once(text):
  with pytest.raises(ValueError, match="`input_file` or `dataset`"):
    MaskedTextOptions(vocab_file="v", **text)
