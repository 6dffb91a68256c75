"""The probability of a span among all spans of all windows and "no answer".

run_squad's probability is a softmax over the n-best list. A list of one entry
makes any answer certain, and lists of two passages cannot be compared. Here all
possible spans and "no answer" count:

    P(span) = exp((start_logit + end_logit) / T) / Z
    P(no answer) = exp(null_logit / T) / Z

    Z = exp(null_logit / T)
        + sum over windows, starts i, ends j of exp((start_i + end_j) / T)

where i is a context token with its maximal context in the window, so that no
span counts twice, and i <= j < i + max_answer_length. null_logit is the lowest
start + end logit of [CLS] among the windows. If null_score_diff_threshold
decides on "no answer", it is subtracted, so that the returned answer is the
most probable one.

Spans compete in Z although several may be right ("May", "the first of May"), so
that P(answer) is too low. `shift_answer` corrects that.

Each start is added to max_answer_length ends, 30 sums a token. Differences of
cumulative sums would be fewer, but cancel: for logits 40 apart, e^-40 in a sum
of size 1 is below float64's precision.
"""

import math

import tensorflow as tf

from bert_span.answers.decoding.n_best import span_positions

# Used for log 0: finite in float32, as are its sums and differences.
_LOG_ZERO = -1e30


def span_log_sums(windows, start_logits, end_logits, temperature, max_length):
  """Returns log sum over a window's spans, in nats, float64 [windows].

  Logits are float32 [windows, seq_length]. A span starts with a max-context
  token and has at most max_length WordPieces.
  """
  # tf.cast would round a Python number to float32 first.
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
  """Returns log Z of each example, in nats, from its windows' `span_log_sums`.

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
  """Adds `shift` to the log-odds log(p / (1 - p)) of an array of p."""
  return probability / (probability + (1 - probability) * math.exp(-shift))


def shift_answer(probability, is_answer, shift):
  """Adds the shift to the answer's log-odds, and scales all other entries.

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
