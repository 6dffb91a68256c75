"""Confidences at any temperature are those that the decoder tells."""

import dataclasses

import numpy as np
import pytest
from tiny_extractor import CONTEXT, QUESTION, tiny_extractor

from bert_span.answers.scoring.answer_confidence import (
  AnswerConfidence,
  decoded_part,
)
from bert_span.answers.window_logits import WindowDecoder
from bert_span.heads.span import SPAN_HEAD
from bert_span.squad.example import SquadExample

_EXAMPLES = [
  SquadExample(f"q{i}", question, context)
  for i, (question, context) in enumerate(
    [
      (QUESTION, CONTEXT),
      ("When was the cafe built?", f"{CONTEXT} " * 4),
      (QUESTION, ""),
      ("Who?", "Anna."),
      ("When?", "The river in 1895, by the mill."),
    ]
  )
]


@pytest.mark.parametrize(
  ("version_2", "threshold"), [(False, 5.0), (True, 0.0), (True, -3.5)]
)
def test_confidence_is_the_probability_of_a_decoder_with_the_temperature(
  version_2, threshold
):
  extractor = tiny_extractor(version_2)
  options = dataclasses.replace(
    extractor.decoder_options, null_score_diff_threshold=threshold
  )
  batches = [
    decoded_part(logits)
    for part in (_EXAMPLES[:2], _EXAMPLES[2:])
    for logits in extractor.window_logits(part)
  ]
  decode = WindowDecoder(SPAN_HEAD, options)
  predictions = [p for batch in batches for p in decode(batch)]
  confidence = AnswerConfidence(batches, predictions, options)
  for temperature in (0.6, 3.0):
    decode = WindowDecoder(
      SPAN_HEAD, dataclasses.replace(options, temperature=temperature)
    )
    expected = [p.probability for batch in batches for p in decode(batch)]
    np.testing.assert_allclose(confidence(temperature), expected, rtol=1e-9)
  assert confidence(1.0)[2] == 1  # An empty passage: no answer.
