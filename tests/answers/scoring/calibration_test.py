"""Fitted probabilities, confidences at any temperature, null thresholds."""

import dataclasses
import math

import numpy as np
import pytest
from tiny_extractor import CONTEXT, QUESTION, shared_extractor

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.joint_probability import shift_log_odds
from bert_span.answers.scoring.calibration import (
  HIGHEST,
  LOWEST,
  AnswerConfidence,
  best_f1_threshold,
  fit_probabilities,
  precision_threshold,
)
from bert_span.answers.window_logits import WindowDecoder
from bert_span.heads.span import SPAN_HEAD
from bert_span.squad.example import Answer, SquadExample

_LOGITS = np.linspace(-4, 5, 40)


def _confidence_at(temperature):
  return 1 / (1 + np.exp(-_LOGITS / temperature))


@pytest.mark.parametrize("made", [(0.1, 0.0), (1.0, -2.5), (15.0, 1.2)])
def test_temperature_and_shift_that_made_the_labels_are_found(made):
  # Cross-entropy with p itself as the label is lowest where both are equal.
  temperature, shift = made
  correct = shift_log_odds(_confidence_at(temperature), shift)
  found = fit_probabilities(_confidence_at, correct)
  assert found == pytest.approx(made, rel=2e-3, abs=2e-3)


def test_of_two_valleys_the_deeper_one_is_found():
  def confidence_at(temperature):
    x = math.log(temperature)
    depth = 0.4 * math.exp(-9 * (x + 2) ** 2) + 0.5 * math.exp(
      -9 * (x - 2) ** 2
    )
    return np.array([0.05 + depth, 0.1])

  found, _ = fit_probabilities(confidence_at, [1, 0])
  assert found == pytest.approx(math.exp(2), rel=2e-3)


def test_the_search_ends_at_its_bounds_and_needs_right_and_wrong_answers():
  certain, _ = fit_probabilities(_confidence_at, _LOGITS > 0)
  misleading, _ = fit_probabilities(_confidence_at, _LOGITS < 0)
  assert LOWEST <= certain <= 1.001 * LOWEST
  assert 0.999 * HIGHEST <= misleading <= 1.001 * HIGHEST
  for correct, which in ((1, "right"), (0, "wrong")):
    with pytest.raises(ValueError, match=f"All 40 answers are {which}"):
      fit_probabilities(_confidence_at, np.full(40, correct))


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
  ("version_2", "threshold", "temperature"),
  [(False, 5.0, 3.0), (True, -3.5, 0.6)],
)
def test_confidence_is_the_probability_of_a_decoder_with_the_temperature(
  version_2, threshold, temperature
):
  extractor = shared_extractor(version_2)
  options = dataclasses.replace(
    extractor.decoder_options, null_score_diff_threshold=threshold
  )
  batches = [
    logits
    for part in (_EXAMPLES[:2], _EXAMPLES[2:])
    for logits in extractor.window_logits(part)
  ]
  decode = WindowDecoder(SPAN_HEAD, options)
  predictions = [p for batch in batches for p in decode(batch)]
  confidence = AnswerConfidence(batches, predictions, options)
  decode = WindowDecoder(
    SPAN_HEAD, dataclasses.replace(options, temperature=temperature)
  )
  expected = [p.probability for batch in batches for p in decode(batch)]
  np.testing.assert_allclose(confidence(temperature), expected, rtol=1e-9)
  assert confidence(1.0)[2] == 1  # An empty passage: no answer.


def _case(*questions):
  """Of rows (gold or "", best span, null odds) the three arguments."""
  examples = [
    SquadExample(f"q{i}", "?", "mill river", (Answer(gold, 0),) if gold else ())
    for i, (gold, _, _) in enumerate(questions)
  ]
  spans = {f"q{i}": span for i, (_, span, _) in enumerate(questions)}
  odds = {f"q{i}": value for i, (_, _, value) in enumerate(questions)}
  return examples, spans, odds


_RIGHT, _WRONG, _NONE = ("mill", "mill"), ("mill", "river"), ("", "mill")


@pytest.mark.parametrize(
  ("questions", "threshold"),
  [
    # Right after each admission: 1 + 1, 1 + 2, 0 + 2, 0 + 3: the first maximum,
    # halfway between two questions.
    (((*_RIGHT, -5.0), (*_RIGHT, -1.0), (*_NONE, 0.0), (*_RIGHT, 4.0)), -0.5),
    # All answers are best: the highest null odds, but those of no span.
    (((*_NONE, -5.0), (*_RIGHT, -1.0), (*_RIGHT, 2.0), ("mill", "", 1e6)), 2.0),
    # No answer is best: below all.
    (((*_NONE, -5.0), (*_WRONG, -2.0), (*_NONE, 1.0)), -6.0),
  ],
)
def test_the_best_f1_threshold(questions, threshold):
  assert best_f1_threshold(*_case(*questions)) == threshold


def test_the_precision_threshold_answers_as_much_as_it_may():
  case = _case(
    *((*_RIGHT, -5.0), (*_NONE, -4.0), (*_RIGHT, -3.0)),
    *((*_RIGHT, -2.0), (*_WRONG, -1.0), (*_WRONG, 0.0)),
  )
  # Precision of the surest 1, 2, ..: 1, 1/2, 2/3, 3/4, 3/5, 3/6.
  assert precision_threshold(*case, 0.75) == -1.5
  assert precision_threshold(*case, 0.6) == -0.5
  assert precision_threshold(*case, 0.9) == -4.5
  assert precision_threshold(*case, 0.0) == 0.0
  # Questions without a span are not answered by any threshold.
  no_span = _case((*_RIGHT, -5.0), ("", "", NO_SPAN_NULL_ODDS))
  assert precision_threshold(*no_span, 0.5) == -5.0
  with pytest.raises(ValueError, match="any of the 1 questions"):
    precision_threshold(*_case(("mill", "", NO_SPAN_NULL_ODDS)), 0.8)
  case = _case((*_WRONG, -5.0), (*_RIGHT, -4.0), (*_WRONG, -3.0))
  with pytest.raises(ValueError, match=r"0\.5000.*--target_precision"):
    precision_threshold(*case, 0.8)
