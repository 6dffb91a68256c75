"""Options that are not allowed are named with their value."""

import math

import pytest

from bert_span.answers.decoding.options import (
  BioDecoderOptions,
  DecoderOptions,
  StepOptions,
)


@pytest.mark.parametrize(
  ("options_type", "name", "values"),
  [
    (DecoderOptions, "n_best_size", (0, 2.5, True, 10_001)),
    (DecoderOptions, "max_answer_length", (-1, 2**31, 10**12)),
    (DecoderOptions, "version_2_with_negative", (1,)),
    (DecoderOptions, "null_score_diff_threshold", (math.nan, "0")),
    (DecoderOptions, "span_score", ("sum",)),
    (DecoderOptions, "temperature", (0, -1.0, math.nan, math.inf, "1", True)),
    (BioDecoderOptions, "decoding", ("beam",)),
    (BioDecoderOptions, "threshold", (1.5, True)),
    (BioDecoderOptions, "version_2_with_negative", (1,)),
    (BioDecoderOptions, "null_score_diff_threshold", (math.nan,)),
    (StepOptions, "max_windows_per_step", (0,)),
    (StepOptions, "max_wordpieces_per_step", (0,)),
  ],
)
def test_options_that_are_not_allowed_are_named(options_type, name, values):
  for value in values:
    with pytest.raises(ValueError, match=name) as caught:
      options_type(**{name: value})
    assert repr(value) in str(caught.value)
