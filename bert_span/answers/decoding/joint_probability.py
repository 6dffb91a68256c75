"""The probability of a span among all spans of all windows and "no answer".

run_squad's probability is a softmax over the n-best list: a list of one entry
makes any answer certain, and lists of two passages cannot be compared. Here
every span that may be an answer counts, and "no answer" does:

    P(span) = exp((start_logit + end_logit) / T) / Z
    P(no answer) = exp(null_logit / T) / Z

    Z = exp(null_logit / T)
        + sum over windows, starts i, ends j of exp((start_i + end_j) / T)

where i is a context token with its maximal context in the window, j one with
i <= j < i + max_answer_length, and null_logit is [CLS]'s start + end logit in
the window where it is lowest, less null_score_diff_threshold where that decides
on "no answer": so the answer that is given is the most probable one. A token of
several windows begins spans in one of them only, and no span is counted twice.
T is the temperature: 1 for the model's own opinion, above 1 for one that is
less sure of itself.

A passage has 30 spans for each of its tokens, but Z takes 2 * log2(30) passes
over them: the ends that belong to a start, a run of max_answer_length
positions, are put together of runs of 1, 2, 4, .. positions.

    log-sum-exp of runs of  1:  e0     e1     e2     e3     e4
                            2:  e0-1   e1-2   e2-3   e3-4   e4
                            4:  e0-3   e1-4   e2-4   e3-4   e4
    of 5 = 1 + 4:           e0 with (run of 4 at 1) = e0-4,  e1-4 (cut), ..

Differences of cumulative sums would need one pass, but cancel: of logits 40
apart, e^-40 in a sum of size 1 is below float64's precision.
"""

import tensorflow as tf

from bert_span.answers.decoding import candidates as candidates_lib

# log of "nothing": finite in float32, so that sums and differences of it are.
_LOG_ZERO = -1e30


def span_log_sums(
  windows,
  start_logits,
  end_logits,
  temperature,
  max_answer_length,
  dtype=tf.float64,
):
  """Log of the sum over the spans that begin in each window, see the module.

  Args:
    windows: dict of tensors of text/windows.py; used are token_char_starts,
      token_char_ends and is_max_context.
    start_logits: float32 [windows, seq_length].
    end_logits: float32 [windows, seq_length].
    temperature: float or `dtype` scalar, above 0.
    max_answer_length: int, in WordPieces.
    dtype: float type that is computed in; TFLite has float32 only.

  Returns:
    `dtype` [windows], in nats.
  """
  # Not tf.cast, which would round a Python number to float32 first.
  temperature = tf.convert_to_tensor(temperature, dtype)
  may_start, may_end = candidates_lib.span_positions(windows)
  starts = _scaled(start_logits, may_start, temperature)
  ends = _scaled(end_logits, may_end, temperature)
  return _log_sum_of_rows(starts + _log_sums_of_runs(ends, max_answer_length))


def log_partition(log_sums, example_index, null):
  """Log Z of each example, see the module.

  Args:
    log_sums: float [windows], `span_log_sums`.
    example_index: int32 [windows].
    null: float [examples], the logit of "no answer" over the temperature; 0
      where there is no window.

  Returns:
    float [examples], in nats.
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


def _scaled(logits, is_possible, temperature):
  """Logits over the temperature, _LOG_ZERO where no span begins or ends."""
  scaled = tf.cast(logits, temperature.dtype) / temperature
  return tf.where(is_possible, scaled, _LOG_ZERO)


def _log_sum_of_rows(values):
  """Log of the sum of exp(values) over each row; TFLite has no logsumexp."""
  highest = tf.reduce_max(values, axis=1)
  sums = tf.reduce_sum(tf.exp(values - highest[:, tf.newaxis]), axis=1)
  return highest + tf.math.log(sums)


def _log_sums_of_runs(values, length):
  """Log of sum_{k < length} exp(values[:, i + k]), cut at the end of the row.

  Args:
    values: float [rows, columns].
    length: int, at least 1.

  Returns:
    Like values.
  """
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
  """values[:, i + places], _LOG_ZERO behind the end of a row."""
  shape = tf.shape(values)
  places = tf.minimum(places, shape[1])
  fill = tf.fill([shape[0], places], tf.constant(_LOG_ZERO, values.dtype))
  return tf.concat([values[:, places:], fill], axis=1)


def _log_add(a, b):
  """Gives log(exp(a) + exp(b))."""
  # Not log1p, which TFLite lacks: next to the maximum it is the same.
  return tf.maximum(a, b) + tf.math.log(1 + tf.exp(-tf.abs(a - b)))
