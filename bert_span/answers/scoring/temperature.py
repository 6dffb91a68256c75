"""The temperature at which confidences fit how often answers are right.

The likelihood is that of right and wrong answers and not of the gold spans: a
user reads the probability as the chance that the answer is right, and an answer
is right, too, if it is another annotator's, stands elsewhere in the passage or
differs from the gold span by an article.

Sources: Guo et al., On Calibration of Modern Neural Networks, 2017, for one
temperature by the negative log-likelihood of held-out data; Kamath et al.,
Selective Question Answering under Domain Shift, 2020, for correct or not as
what the confidence of an extractive answer predicts.
"""

import numpy as np

LOWEST, HIGHEST = 0.05, 20.0
# Steps of 28 %: far narrower than the valleys that such a loss has.
_GRID = np.linspace(np.log(LOWEST), np.log(HIGHEST), 25)
_TOLERANCE = 1e-3  # of log T: 0.1 % of the temperature
_GOLDEN = (np.sqrt(5) - 1) / 2
# Probabilities of 0 and 1 would make a wrong answer infinitely surprising.
_SMALLEST = 1e-12


def negative_log_likelihood(confidence, correct):
  """How surprising it is which answers are right.

  -mean(correct * log confidence + (1 - correct) * log(1 - confidence)).

  Args:
    confidence: float [questions], from 0 to 1.
    correct: float [questions], from 0 to 1.

  Returns:
    float, in nats a question.
  """
  p = np.clip(confidence, _SMALLEST, 1 - _SMALLEST)
  correct = np.asarray(correct, np.float64)
  return float(-np.mean(correct * np.log(p) + (1 - correct) * np.log1p(-p)))


def fit_temperature(confidence_at, correct):
  """Finds the temperature with the lowest negative log-likelihood.

  The logarithm of the temperature is searched from LOWEST to HIGHEST: first on
  a grid, since the loss need not have one valley, then by golden sections
  around the best point.

  Args:
    confidence_at: function of a temperature that gives the confidences of the
      answers, float [questions].
    correct: float [questions], from 0 to 1.

  Returns:
    float, to 0.1 %.

  Raises:
    ValueError: all answers are right, or all are wrong: then no temperature is
      the best one.
  """
  correct = np.asarray(correct, np.float64)
  if np.all(correct == 1) or np.all(correct == 0):
    which = "right" if np.all(correct == 1) else "wrong"
    raise ValueError(
      f"All {len(correct)} answers are {which}, so that no temperature fits "
      "them best. Calibrate on more questions, and on some that were not "
      "trained on."
    )

  def loss(log_temperature):
    confidence = confidence_at(float(np.exp(log_temperature)))
    return negative_log_likelihood(confidence, correct)

  best = int(np.argmin([loss(point) for point in _GRID]))
  low, high = _GRID[max(best - 1, 0)], _GRID[min(best + 1, len(_GRID) - 1)]
  return float(np.exp(_golden_section(loss, low, high)))


def _golden_section(function, low, high):
  """Where a function with one valley between two points is lowest."""
  left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
  at_left, at_right = function(left), function(right)
  while high - low > _TOLERANCE:
    if at_left < at_right:
      high, right, at_right = right, left, at_left
      left = high - _GOLDEN * (high - low)
      at_left = function(left)
    else:
      low, left, at_left = left, right, at_right
      right = low + _GOLDEN * (high - low)
      at_right = function(right)
  return (low + high) / 2
