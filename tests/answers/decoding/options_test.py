"""Options of decoders, and the null threshold in logits."""

import pytest

from bert_span.answers.decoding.options import DecoderOptions


@pytest.mark.parametrize(
  ("options", "shift"),
  [
    ({"version_2_with_negative": True}, 1.5),
    ({}, 0.0),
    # The threshold is in probabilities.
    (
      {"version_2_with_negative": True, "span_score": "mean_probability"},
      0.0,
    ),
  ],
)
def test_the_threshold_lowers_the_null_logit_where_it_decides_in_logits(
  options, shift
):
  options = DecoderOptions(null_score_diff_threshold=1.5, **options)
  assert options.null_shift == shift
