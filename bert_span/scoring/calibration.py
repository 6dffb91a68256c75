"""Fits probabilities and a null threshold.

Confidences are fitted to right and wrong answers and not to gold spans: an
answer is also right if it is another annotator's or differs from the gold span
by an article. A null threshold is halfway between the null odds of two
questions, so that a score that differs in its last digits, as on another
machine, decides alike.

Sources: Guo et al., On Calibration of Modern Neural Networks, 2017, for the
temperature; Platt, Probabilistic Outputs for Support Vector Machines, 1999, for
the shift; Kamath et al., Selective Question Answering under Domain Shift, 2020,
for right or wrong as what a confidence predicts.
"""

import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.joint_probability import (
  log_partition,
  shift_log_odds,
)
from bert_span.answers.decoding.n_best import null_entry
from bert_span.answers.decoding.span_decoder import read_windows
from bert_span.answers.window_logits import (
  DECODED_COLUMNS,
  WINDOW_SPECS,
  WindowDecoder,
)
from bert_span.scoring import reliability, squad_scores
from bert_span.squad.reader import repeated_ids
from bert_span.storage.log import log_line

LOWEST, HIGHEST = 0.05, 20.0
# Steps of 28 %: far narrower than the valleys of such a loss.
_GRID = np.linspace(np.log(LOWEST), np.log(HIGHEST), 25)
_TOLERANCE = 1e-3  # of log T: 0.1 % of the temperature
_HIGHEST_SHIFT = 30.0  # nats: beyond the log-odds of _SMALLEST
_GOLDEN = (np.sqrt(5) - 1) / 2
# Probabilities of 0 and 1 would make the loss of a wrong answer infinite.
_SMALLEST = 1e-12
_LOGITS = tf.TensorSpec([None, None], tf.float32)  # [windows, seq_length]
# Of 300, the share of right answers is known to 0.06 or better (95 %).
_FEW_QUESTIONS = 300
_decoder = functools.lru_cache(maxsize=2)(WindowDecoder)  # Tracing is slow.


class ScoredQuestions(NamedTuple):
  """Labelled questions, the logits of their windows, and their answers."""

  examples: list  # `SquadExample`
  source: str  # where they are from, for messages
  kind: type  # the class of the extractor
  batches: list  # `WindowLogits`, of all questions in order
  predictions: list  # `Prediction`, with the model's original options

  def decode(self, options):
    """List of `Prediction` with other `DecoderOptions`, of the same logits."""
    decode = _decoder(self.kind, options)
    return [p for batch in self.batches for p in decode(batch)]


def check_calibration(
  kind, options, target_precision=None, target_answered=None
):
  """Raises ValueError for a head or a target that cannot be calibrated.

  `kind` is the class of an extractor, and `options` those of its decoder.
  """
  if not kind.has_joint_probability:
    raise ValueError(
      f"A model with a {kind.head_name} head is not calibrated. Only the "
      "probabilities of a span head have a temperature."
    )
  targets = {
    "target_precision": target_precision,
    "target_answered": target_answered,
  }
  given = {name: v for name, v in targets.items() if v is not None}
  if len(given) > 1:
    raise ValueError(f"Give one of {' and '.join(given)}, not both.")
  for name, value in given.items():
    if not options.version_2_with_negative:
      raise ValueError(f"{name} needs version_2_with_negative=True.")
    if not 0 <= value <= 1:
      raise ValueError(f"{name} must be from 0 to 1. Received: {value!r}")


def score_questions(extractor, examples, batch_size=None, source="examples"):
  """The `ScoredQuestions` of `SquadExample`s; a ValueError without labels."""
  examples = list(examples)
  for first, index in repeated_ids(examples):
    raise ValueError(
      f"{source}: questions {first} and {index} have the same id, "
      f"{examples[index].qas_id!r}. Give each its own."
    )
  if all(example.is_unlabelled for example in examples):
    raise ValueError(
      f"{source}: no question has an answer or is marked is_impossible. "
      "Calibration needs labelled questions."
    )
  unanswerable = [e.qas_id for e in examples if not e.answers]
  if unanswerable and not extractor.decoder_options.version_2_with_negative:
    raise ValueError(
      f"{source}: {len(unanswerable)} of {len(examples)} questions have no "
      f"answer (first: {unanswerable[0]}), and the model never says so. Give "
      "version_2_with_negative=True, or remove these questions."
    )
  batches, predictions = [], []
  for logits in extractor.window_logits(examples, batch_size):
    # Other columns do not stay in memory.
    windows = {name: logits.windows[name] for name in DECODED_COLUMNS}
    batches.append(logits._replace(windows=windows))
    predictions += extractor.decode(logits)
  return ScoredQuestions(
    examples, source, type(extractor), batches, predictions
  )


def fitted_options(
  scored, options, target_precision=None, target_answered=None
):
  """Decoding options with fitted probabilities and null threshold."""
  examples = scored.examples
  if len(examples) < _FEW_QUESTIONS:
    log_line(
      f"{scored.source}: {len(examples)} questions. Fitted to fewer than "
      f"{_FEW_QUESTIONS}, probabilities and threshold may be far off for "
      "others: label more."
    )
  best_spans = {
    p.qas_id: next((e.text for e in p.n_best if e.text), "")
    for p in scored.predictions
  }
  null_odds = {p.qas_id: p.answer.null_odds for p in scored.predictions}
  threshold = options.null_score_diff_threshold
  if target_precision is not None:
    threshold = precision_threshold(
      examples, best_spans, null_odds, target_precision
    )
  elif target_answered is not None:
    threshold = answered_threshold(examples, null_odds, target_answered)
  # If every question has an answer, any threshold that answers all is best.
  elif options.version_2_with_negative and not all(e.answers for e in examples):
    threshold = best_f1_threshold(examples, best_spans, null_odds)
  options = dataclasses.replace(options, null_score_diff_threshold=threshold)
  predictions = scored.decode(options)
  correct = _correct_answers(examples, predictions)
  temperature = options.temperature or 1.0
  if correct.all() or not correct.any():
    which = "right" if correct.all() else "wrong"
    log_line(
      f"All {len(correct)} answers are {which}, which fits no temperature: it "
      f"is {temperature:g}, and only the shift is fitted."
    )
  temperature, shift = fit_probabilities(
    answer_confidence(scored.batches, predictions, options),
    correct,
    temperature,
  )
  return dataclasses.replace(
    options, temperature=temperature, log_odds_shift=shift
  )


def calibration_figures(scored, squad_file, options):
  """How far probabilities can be trusted, before and after fitting.

  `squad_file` is the `SquadFile` of the `ScoredQuestions`.
  """
  decoded = {"before": scored.predictions, "after": scored.decode(options)}
  figures = {}
  for stage, predictions in decoded.items():
    confidence = np.array([p.answer.probability for p in predictions])
    correct = _correct_answers(scored.examples, predictions)
    by_width = reliability.equal_width_bins(confidence, correct)
    by_mass = reliability.equal_mass_bins(confidence, correct)
    texts = {p.qas_id: p.answer.text for p in predictions}
    figures[stage] = {
      **squad_scores.official_scores(squad_file, texts),
      "num_answered": sum(map(bool, texts.values())),
      "expected_calibration_error": by_width.calibration_error,
      "equal_mass_calibration_error": by_mass.calibration_error,
      "reliability": by_width,
      "equal_mass_reliability": by_mass,
      "risk_coverage": reliability.risk_coverage(confidence, correct),
    }
  return figures


def _correct_answers(examples, predictions):
  """1 for exact matches, else 0: float64 [questions]."""
  score = functools.partial(squad_scores.question_scores, version_2=True)
  pairs = zip(examples, predictions, strict=True)
  return np.array([score(e, p.answer.text)[0] for e, p in pairs], np.float64)


def fit_probabilities(confidence_at, correct, temperature=1.0):
  """Temperature and shift of log-odds with the lowest neg. log-likelihood.

  The logarithm of the temperature is searched first on a grid, since the loss
  may have several valleys, then by golden sections around the best point. Each
  temperature has its best shift.

  `confidence_at` is a function of a temperature to the confidences of the
  answers, float [questions]; `correct` is from 0 to 1.

  If all answers are right, or all are wrong, the likelihood has no highest
  point: the given temperature is kept, and the shift makes the mean probability
  (right answers + 1) / (answers + 2), the rule of succession.
  """
  correct = np.asarray(correct, np.float64)
  if np.all(correct == 1) or np.all(correct == 0):
    share = (correct.sum() + 1) / (len(correct) + 2)
    return temperature, _best_shift(confidence_at(temperature), share)

  def loss(log_temperature):
    """Mean of -(correct * log p + (1 - correct) * log(1 - p)), in nats."""
    p = confidence_at(float(np.exp(log_temperature)))
    p = _clipped(shift_log_odds(_clipped(p), _best_shift(p, correct)))
    return -np.mean(correct * np.log(p) + (1 - correct) * np.log1p(-p))

  best = int(np.argmin([loss(point) for point in _GRID]))
  low, high = _GRID[max(best - 1, 0)], _GRID[min(best + 1, len(_GRID) - 1)]
  while high - low > _TOLERANCE:
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    if loss(left) < loss(right):
      high = right
    else:
      low = left
  temperature = float(np.exp((low + high) / 2))
  return temperature, _best_shift(confidence_at(temperature), correct)


def _best_shift(probability, correct):
  """The shift at which the mean probability is the mean of `correct`.

  There the derivative of the negative log-likelihood is zero.
  """
  low, high = -_HIGHEST_SHIFT, _HIGHEST_SHIFT
  while high - low > _TOLERANCE:
    middle = (low + high) / 2
    shifted = shift_log_odds(_clipped(probability), middle)
    if shifted.mean() < np.mean(correct):
      low = middle
    else:
      high = middle
  return (low + high) / 2


def _clipped(probability):
  return np.clip(probability, _SMALLEST, 1 - _SMALLEST)


def answer_confidence(batches, predictions, options):
  """A function of a temperature to the joint probabilities of given answers.

  They are float64 [questions], and equal those of a `SpanDecoder` with that
  temperature and no shift, but the answers are not decoded again. `predictions`
  are those of all questions of the `WindowLogits` in order.
  """
  scalars = tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.float64)
  signature = (WINDOW_SPECS, _LOGITS, _LOGITS, *scalars)

  # Traced once for batches of any size and any temperature.
  @tf.function(input_signature=signature, autograph=False)
  def partition(windows, start, end, num_examples, temperature):
    _, of_windows, log_sums = read_windows(
      windows, start, end, options, temperature
    )
    example_index = windows["example_index"]
    null = null_entry(example_index, of_windows, num_examples)
    null_logits = null.logit_sum - options.null_shift
    scaled = null_logits / temperature
    return log_partition(log_sums, example_index, scaled), null_logits

  def partitions(temperature):
    """Log Z and the null logit of all questions: float64 [questions]."""
    columns = [
      partition(
        {name: batch.windows[name] for name in WINDOW_SPECS},
        batch.logits["start_logits"],
        batch.logits["end_logits"],
        len(batch.examples),
        tf.constant(temperature, tf.float64),
      )
      for batch in batches
    ]
    return [np.concatenate(column) for column in zip(*columns, strict=True)]

  def confidence_at(temperature):
    log_z, _ = partitions(temperature)
    return np.exp(logits / temperature - log_z)

  _, logits = partitions(1.0)  # of "no answer"
  for i, prediction in enumerate(predictions):
    if prediction.answer.is_answerable:
      best = next(e for e in prediction.n_best if e.char_end > e.char_start)
      logits[i] = best.start_logit + best.end_logit
  return confidence_at


def best_f1_threshold(examples, best_spans, null_odds):
  """The null threshold with the best F1 of SQuAD 2.0.

  It is below all null odds where "no answer" to everything is best. The dicts
  have, by question id, the text of the best span, whether or not it is the
  answer ("" where no span is possible), and the null odds.
  """
  scores = squad_scores.evaluate_squad2(examples, best_spans, null_odds)
  odds = np.array(list(null_odds.values()))
  without_answers = 100 * sum(not e.answers for e in examples) / len(examples)
  if scores["best_f1"] <= without_answers + 1e-9:
    # The official search then gives 0.0, meant for probabilities.
    return float(odds.min()) - 1
  return _above(scores["best_f1_thresh"], odds)


def precision_threshold(examples, best_spans, null_odds, target):
  """The null threshold that answers most while enough answers are right.

  `target` is the share of the given answers that must be exact matches;
  ValueError if no threshold reaches it. An answer to an unanswerable question
  is wrong.
  """
  answered = [e for e in examples if null_odds[e.qas_id] < NO_SPAN_NULL_ODDS]
  if not answered:
    raise ValueError(
      f"No span is possible in any of the {len(examples)} questions, so that "
      "no threshold gives an answer. Check the passages."
    )
  odds = np.array([null_odds[e.qas_id] for e in answered])
  scores = (
    squad_scores.question_scores(e, best_spans[e.qas_id], version_2=True)
    for e in answered
  )
  curve = reliability.risk_coverage(-odds, [exact for exact, _ in scores])
  precision = 1 - curve.risk
  reaches = np.flatnonzero(precision >= target)
  if not len(reaches):
    raise ValueError(
      f"No threshold reaches a precision of {target:g} on {len(examples)} "
      f"questions: the highest is {precision.max():.4f}. Give a lower "
      "target_precision."
    )
  return _above(-curve.threshold[reaches[-1]], odds)


def answered_threshold(examples, null_odds, target):
  """The lowest null threshold that answers enough answerable questions.

  `target` is their share, from 0 to 1; ValueError if for too many of them no
  span is possible.
  """
  odds = np.sort([null_odds[e.qas_id] for e in examples if e.answers])
  if not odds.size:
    raise ValueError(
      "target_answered is a share of the answerable questions, and no question "
      "has an answer. Give questions with answers, or no target."
    )
  threshold = odds[max(math.ceil(target * len(odds)), 1) - 1]
  if threshold >= NO_SPAN_NULL_ODDS:
    possible = np.mean(odds < NO_SPAN_NULL_ODDS)
    raise ValueError(
      f"A span is possible in only {possible:.4f} of the {len(odds)} "
      f"answerable questions, not in {target:g}. Give a lower "
      "target_answered."
    )
  return _above(threshold, odds)


def _above(threshold, null_odds):
  """Halfway to the next higher null odds of a question with a span."""
  higher = null_odds[(null_odds > threshold) & (null_odds < NO_SPAN_NULL_ODDS)]
  if not higher.size:
    return float(threshold)
  return float((threshold + higher.min()) / 2)
