"""The joint probabilities of given answers, at any temperature."""

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.candidates import position_scores
from bert_span.answers.decoding.joint_probability import (
  log_partition,
  span_log_sums,
)
from bert_span.answers.decoding.n_best import null_entry, null_of_windows
from bert_span.answers.window_logits import WINDOW_SPECS

_LOGITS = tf.TensorSpec([None, None], tf.float32)  # [windows, seq_length]


def decoded_part(logits):
  """`WindowLogits` with the windows' decoded columns only, to be kept.

  Args:
    logits: `WindowLogits`.
  """
  windows = {name: logits.windows[name] for name in WINDOW_SPECS}
  return logits._replace(windows=windows)


class AnswerConfidence:
  """Gives the answers of a decoder their joint probabilities.

  What is told at a temperature equals the probabilities of a `SpanDecoder`
  with it, without choosing the answers anew.

  Args:
    batches: list of `WindowLogits`.
    predictions: list of `Prediction`, of the questions of all batches in order.
    options: `DecoderOptions` that they were decoded with.
  """

  def __init__(self, batches, predictions, options):
    self._batches = batches
    self._options = options
    self._partition = tf.function(
      self._log_partition,
      input_signature=(
        WINDOW_SPECS,
        *(_LOGITS, _LOGITS),
        tf.TensorSpec([], tf.int32),
        tf.TensorSpec([], tf.float64),
      ),
    )
    _, null_logits = self._log_partitions(1.0)
    self._logits = np.array(
      [
        _span_logit(prediction) if prediction.text else null_logit
        for prediction, null_logit in zip(predictions, null_logits, strict=True)
      ]
    )

  def __call__(self, temperature):
    """The probability of each answer.

    Args:
      temperature: float, above 0.

    Returns:
      float64 [questions].
    """
    log_z, _ = self._log_partitions(temperature)
    return np.exp(self._logits / temperature - log_z)

  def _log_partitions(self, temperature):
    """Log Z and the null logit of all questions, float64 [questions]."""
    columns = [
      self._partition(
        {name: tf.constant(value) for name, value in batch.windows.items()},
        tf.constant(batch.logits["start_logits"]),
        tf.constant(batch.logits["end_logits"]),
        tf.constant(len(batch.examples)),
        tf.constant(temperature, tf.float64),
      )
      for batch in self._batches
    ]
    return [np.concatenate(column) for column in zip(*columns, strict=True)]

  def _log_partition(self, windows, start, end, examples, temperature):
    scores = [
      position_scores(x, windows["input_mask"], self._options.span_score)
      for x in (start, end)
    ]
    example_index = windows["example_index"]
    of_windows = null_of_windows(start, end, *scores)
    null = null_entry(example_index, of_windows, examples)
    null_logits = null.logit_sum - self._options.null_shift
    log_sums = span_log_sums(
      windows, start, end, temperature, self._options.max_answer_length
    )
    log_z = log_partition(log_sums, example_index, null_logits / temperature)
    return log_z, null_logits


def _span_logit(prediction):
  """Start + end logit of the best span of an n-best list."""
  best = next(e for e in prediction.n_best if e.char_end > e.char_start)
  return best.start_logit + best.end_logit
