"""Fitted probabilities and null thresholds."""

import dataclasses
import math

import numpy as np
import pytest

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.joint_probability import shift_log_odds
from bert_span.answers.window_logits import WindowDecoder
from bert_span.extractors.span_extractor import SpanExtractor
from bert_span.scoring import calibration
from bert_span.squad.example import AnswerSpan, SquadExample
from tests.support.models import CONTEXT, QUESTION, shared_extractor

_LOGITS = np.linspace(-4, 5, 40)


def _confidence_at(temperature):
  return 1 / (1 + np.exp(-_LOGITS / temperature))


def test_temperature_and_shift_that_made_the_labels_are_found():
  # Cross-entropy with p itself as the label is lowest where both are equal.
  for temperature, shift in ((0.1, 0.0), (1.0, -2.5), (15.0, 1.2)):
    correct = shift_log_odds(_confidence_at(temperature), shift)
    found = calibration.fit_probabilities(_confidence_at, correct)
    assert found == pytest.approx((temperature, shift), rel=2e-3, abs=2e-3)


def test_of_two_valleys_the_deeper_one_is_found():
  def confidence_at(temperature):
    x = math.log(temperature)
    left, right = (math.exp(-9 * (x - at) ** 2) for at in (-2, 2))
    return np.array([0.05 + 0.4 * left + 0.5 * right, 0.1])

  found, _ = calibration.fit_probabilities(confidence_at, [1, 0])
  assert found == pytest.approx(math.exp(2), rel=2e-3)


def test_the_search_ends_at_its_bounds():
  certain, _ = calibration.fit_probabilities(_confidence_at, _LOGITS > 0)
  misleading, _ = calibration.fit_probabilities(_confidence_at, _LOGITS < 0)
  low, high = calibration.LOWEST, calibration.HIGHEST
  assert low <= certain <= 1.001 * low
  assert 0.999 * high <= misleading <= 1.001 * high


@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("is_right", [True, False])
def test_answers_that_are_all_right_or_wrong_fit_the_shift_only(
  count, is_right
):
  def confidence_at(temperature):
    return _confidence_at(temperature)[:count]

  correct = np.full(count, is_right)
  temperature, shift = calibration.fit_probabilities(
    confidence_at, correct, 1.5
  )
  shifted = shift_log_odds(confidence_at(1.5), shift)
  expected = (count + 1 if is_right else 1) / (count + 2)
  assert (temperature, shifted.mean()) == pytest.approx(
    (1.5, expected), abs=1e-3
  )


_EXAMPLES = [
  SquadExample("q0", QUESTION, CONTEXT),
  SquadExample("q1", "When was the cafe built?", f"{CONTEXT} " * 4),
  SquadExample("q2", QUESTION, ""),
  SquadExample("q3", "When?", "The river in 1895, by the mill."),
]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
  ("version_2", "threshold", "temperature"),
  [(False, 5.0, 3.0), (True, -3.5, 0.6)],
)
def test_confidence_is_the_probability_of_a_decoder_with_the_temperature(
  version_2, threshold, temperature
):
  extractor = shared_extractor(version_2)
  changed = {"null_score_diff_threshold": threshold}
  options = dataclasses.replace(extractor.decoder_options, **changed)
  parts = (_EXAMPLES[:2], _EXAMPLES[2:])
  batches = [x for part in parts for x in extractor.window_logits(part)]

  def predictions(**changed):
    changed = dataclasses.replace(options, **changed)
    decode = WindowDecoder(SpanExtractor, changed)
    return [p for batch in batches for p in decode(batch)]

  confidence = calibration.answer_confidence(batches, predictions(), options)
  expected = [
    p.answer.probability for p in predictions(temperature=temperature)
  ]
  np.testing.assert_allclose(confidence(temperature), expected, rtol=1e-9)
  assert confidence(1.0)[2] == 1  # An empty passage: no answer.


def _case(*questions):
  """Of rows (gold or "", best span, null odds) the three arguments."""
  examples, spans, odds = [], {}, {}
  for i, (gold, span, value) in enumerate(questions):
    answers = (AnswerSpan(gold, 0),) if gold else ()
    examples.append(SquadExample(f"q{i}", "?", "mill river", answers))
    spans[f"q{i}"], odds[f"q{i}"] = span, value
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
  assert calibration.best_f1_threshold(*_case(*questions)) == threshold


def test_the_precision_threshold_answers_as_much_as_it_may():
  case = _case(
    *((*_RIGHT, -5.0), (*_NONE, -4.0), (*_RIGHT, -3.0)),
    *((*_RIGHT, -2.0), (*_WRONG, -1.0), (*_WRONG, 0.0)),
  )
  # Precision of the surest 1, 2, ..: 1, 1/2, 2/3, 3/4, 3/5, 3/6.
  for target, threshold in ((0.75, -1.5), (0.6, -0.5), (0.9, -4.5), (0.0, 0.0)):
    assert calibration.precision_threshold(*case, target) == threshold
  # Questions without a span are not answered by any threshold.
  case = _case((*_RIGHT, -5.0), ("", "", NO_SPAN_NULL_ODDS))
  assert calibration.precision_threshold(*case, 0.5) == -5.0
  case = _case(("mill", "", NO_SPAN_NULL_ODDS))
  with pytest.raises(ValueError, match="1 questions"):
    calibration.precision_threshold(*case, 0.8)
  case = _case((*_WRONG, -5.0), (*_RIGHT, -4.0), (*_WRONG, -3.0))
  with pytest.raises(ValueError, match=r"0\.5000.*target_precision"):
    calibration.precision_threshold(*case, 0.8)


def test_the_answered_threshold_answers_enough_answerable_questions():
  examples, _, null_odds = _case(
    *((*_RIGHT, -5.0), (*_NONE, -4.0), (*_WRONG, -3.0), (*_RIGHT, -2.0)),
    ("mill", "", NO_SPAN_NULL_ODDS),
  )
  for target, threshold in ((0, -4), (0.25, -4), (0.3, -2.5), (0.75, -2)):
    found = calibration.answered_threshold(examples, null_odds, target)
    assert found == threshold
  with pytest.raises(ValueError, match=r"only 0\.7500.*target_answered"):
    calibration.answered_threshold(examples, null_odds, 0.8)
