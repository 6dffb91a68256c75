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
the most probable one. The temperature T is 1 for the model's own probabilities.

Spans compete in Z although several may be right ("May", "the first of May"), so
that P is too low. `shift_log_odds` mends that.

A passage has 30 spans for each of its tokens, but Z takes 2 * log2(30) passes
over them: the ends that belong to a start, a run of max_answer_length
positions, are joined from runs of 1, 2, 4, .. positions.

    log-sum-exp of runs of  1:  e0     e1     e2     e3     e4
                            2:  e0-1   e1-2   e2-3   e3-4   e4
                            4:  e0-3   e1-4   e2-4   e3-4   e4
    of 5 = 1 + 4:           e0 with (run of 4 at 1) = e0-4,  e1-4 (cut), ..

Differences of cumulative sums would need one pass, but cancel: of logits 40
apart, e^-40 in a sum of size 1 is below float64's precision.
"""

import math

import tensorflow as tf

from bert_span.answers.decoding.n_best import span_positions

# log of 0: finite in float32, so that sums and differences of it are.
_LOG_ZERO = -1e30


def span_log_sums(
  windows, start_logits, end_logits, temperature, max_length, dtype=tf.float64
):
  """Log of the sum over the spans that begin in each window, in nats.

  Logits are float32 [windows, seq_length]; the result is [windows] of `dtype`,
  since TFLite has float32 only. Spans have max_length WordPieces at most.
  """
  # Not tf.cast, which would round a Python number to float32 first.
  temperature = tf.convert_to_tensor(temperature, dtype)
  may_start, may_end = span_positions(windows)
  starts = tf.cast(start_logits, dtype) / temperature
  ends = tf.cast(end_logits, dtype) / temperature
  ends = tf.where(may_end, ends, _LOG_ZERO)
  sums = tf.where(may_start, starts, _LOG_ZERO)
  sums += _log_sums_of_runs(ends, max_length)
  # TFLite has no logsumexp.
  highest = tf.reduce_max(sums, axis=1)
  total = tf.reduce_sum(tf.exp(sums - highest[:, tf.newaxis]), axis=1)
  return highest + tf.math.log(total)


def log_partition(log_sums, example_index, null):
  """Log Z of each example, in nats, from the `span_log_sums` of its windows.

  `null` is null_logit / T, float [examples]; 0 for an example without a window.
  """
  examples = tf.size(null)
  # An example without a window has the lowest number as its maximum.
  highest = tf.maximum(
    null, tf.math.unsorted_segment_max(log_sums, example_index, examples)
  )
  spans = tf.math.unsorted_segment_sum(
    tf.exp(log_sums - tf.gather(highest, example_index)),
    example_index,
    examples,
  )
  return highest + tf.math.log(tf.exp(null - highest) + spans)


def shift_log_odds(probability, shift):
  """Probabilities p with log(p / (1 - p)) higher by `shift`, of any array."""
  return probability / (probability + (1 - probability) * math.exp(-shift))


def _log_sums_of_runs(values, length):
  """Log of sum_{k < length} exp(values[:, i + k]), cut at the row's end."""
  total = tf.fill(tf.shape(values), tf.constant(_LOG_ZERO, values.dtype))
  run, done = values, 0
  for bit in range(length.bit_length()):
    run_length = 1 << bit
    if length & run_length:
      total = _log_add(total, _shifted(run, done))
      done += run_length
    if done < length:
      run = _log_add(run, _shifted(run, run_length))
  return total


def _shifted(values, places):
  """values[:, i + places], _LOG_ZERO after the end of a row."""
  shape = tf.shape(values)
  places = tf.minimum(places, shape[1])
  fill = tf.fill([shape[0], places], tf.constant(_LOG_ZERO, values.dtype))
  return tf.concat([values[:, places:], fill], axis=1)


def _log_add(a, b):
  """Log of exp(a) + exp(b)."""
  # Not log1p, which TFLite lacks: next to the maximum it is the same.
  return tf.maximum(a, b) + tf.math.log(1 + tf.exp(-tf.abs(a - b)))
