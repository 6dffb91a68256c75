"""The probability that is told of an answer, by the decoder's options.

Each function gives a function of scores and logit sums, float [examples, any],
and whether they are of a span, bool of the same shape, that returns their
probabilities, of their type and shape.
"""

import tensorflow as tf

from bert_span.answers.decoding.joint_probability import log_partition


def of_options(entries, spans, null, options, example_index, log_sums):
  """The probabilities that the options ask for.

  Args:
    entries, spans: Entries with and without the null entry.
    null: NullEntry.
    options: DecoderOptions.
    example_index: int32 [windows].
    log_sums: `span_log_sums` of the windows; None without a temperature.
  """
  if options.temperature is not None:
    return among_all_spans(null, options, example_index, log_sums)
  if options.span_score == "mean_probability":
    return of_scores(has_span=spans.count > 0)
  return within_n_best(entries)


def within_n_best(entries):
  """As run_squad: softmax over the scores of the n-best list.

  Args:
    entries: Entries.
  """
  scores = tf.where(entries.is_entry, entries.score, entries.score.dtype.min)
  highest = tf.reduce_max(scores, axis=1, keepdims=True)
  total = tf.reduce_sum(
    tf.exp(scores - highest), axis=1, keepdims=True
  )  # [examples, 1]; padding adds exp(-huge) = 0
  return lambda score, *_: tf.exp(score - highest) / total


def of_scores(has_span):
  """Scores that are probabilities themselves; 1 where no span is possible.

  Args:
    has_span: bool [examples].
  """
  return lambda score, *_: tf.where(
    has_span[:, tf.newaxis], score, tf.ones_like(score)
  )


def among_all_spans(null, options, example_index, log_sums):
  """Among all spans of the passage and "no answer", at a temperature.

  Args:
    null: NullEntry.
    options: DecoderOptions with a temperature.
    example_index: int32 [windows].
    log_sums: `span_log_sums` of the windows.
  """
  null_logits = null.logit_sum - options.null_shift
  log_z = log_partition(
    log_sums, example_index, null_logits / options.temperature
  )

  def probability_of(_, logit_sum, is_span):
    logits = tf.where(is_span, logit_sum, null_logits[:, tf.newaxis])
    return tf.exp(logits / options.temperature - log_z[:, tf.newaxis])

  return probability_of
