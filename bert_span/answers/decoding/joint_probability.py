"""The probability of a span among all spans of all windows and "no answer".

run_squad's probability is a softmax over the n-best list: a list of one entry
makes any answer certain, and lists of two passages cannot be compared. Here
every possible span counts, and so does "no answer":

    P(span) = exp((start_logit + end_logit) / T) / Z
    P(no answer) = exp(null_logit / T) / Z

    Z = exp(null_logit / T)
        + sum over windows, starts i, ends j of exp((start_i + end_j) / T)

where i is a context token with its maximal context in the window, so that no
span counts twice, and i <= j < i + max_answer_length. null_logit is [CLS]'s
start + end logit in the window where it is lowest, less
null_score_diff_threshold if that decides on "no answer": so the answer given is
the most probable one.

Spans compete in Z although several may be right ("May", "the first of May"), so
that P of the answer is too low. `shift_answer` mends that.

Each start is added to its own max_answer_length ends, 30 numbers a token.
Differences of cumulative sums would be fewer, but cancel: of logits 40 apart,
e^-40 in a sum of size 1 is below float64's precision.
"""

import math

import tensorflow as tf

from bert_span.answers.decoding.n_best import span_positions

# log of 0: finite in float32, so that sums and differences of it are.
_LOG_ZERO = -1e30


def span_log_sums(windows, start_logits, end_logits, temperature, max_length):
  """Returns the log of the sum over the spans that begin in each window, in nats.

  Logits are float32 [windows, seq_length]; the result is float64 [windows].
  Spans have max_length WordPieces at most.
  """
  # Not tf.cast, which would round a Python number to float32 first.
  temperature = tf.convert_to_tensor(temperature, tf.float64)
  may_start, may_end = span_positions(windows)
  starts = tf.cast(start_logits, tf.float64) / temperature
  ends = tf.cast(end_logits, tf.float64) / temperature
  starts = tf.where(may_start, starts, _LOG_ZERO)
  ends = tf.where(may_end, ends, _LOG_ZERO)
  seq_length = tf.shape(ends)[1]
  longest = tf.minimum(max_length, seq_length)
  ends = tf.pad(ends, [[0, 0], [0, longest]], constant_values=_LOG_ZERO)
  end = tf.range(seq_length)[:, tf.newaxis] + tf.range(longest)
  # [windows, starts, lengths]
  sums = starts[..., tf.newaxis] + tf.gather(ends, end, axis=1)
  return tf.reduce_logsumexp(sums, axis=[1, 2])


def log_partition(log_sums, example_index, null):
  """Log Z of each example, in nats, from the `span_log_sums` of its windows.

  `null` is null_logit / T, float [examples]; 0 for an example without a window.
  """
  examples = tf.size(null)
  # An example without a window has the lowest number as its maximum.
  highest = tf.maximum(
    null, tf.math.unsorted_segment_max(log_sums, example_index, examples)
  )
  spans = tf.exp(log_sums - tf.gather(highest, example_index))
  spans = tf.math.unsorted_segment_sum(spans, example_index, examples)
  return highest + tf.math.log(tf.exp(null - highest) + spans)


def shift_log_odds(probability, shift):
  """Probabilities p with log(p / (1 - p)) higher by `shift`, of any array."""
  return probability / (probability + (1 - probability) * math.exp(-shift))


def shift_answer(probability, is_answer, shift):
  """Raises the log-odds of the answer; the others share the rest as before.

  With p of the answer, q of another entry and s the shift:

      p' = p / (p + (1 - p) exp(-s))
      q' = q (1 - p') / (1 - p)

  Args:
    probability: float64 [examples, entries], the answer's in column 0.
    is_answer: bool [examples, entries], the entries that are the answer.
    shift: float, in nats.

  Returns:
    float64 [examples, entries].
  """
  factor = math.exp(-shift)
  answer = probability[:, :1]
  factors = tf.where(is_answer, tf.ones_like(probability), factor)
  return probability * factors / (answer + (1 - answer) * factor)
