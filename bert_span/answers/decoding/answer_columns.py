"""N-best lists to the answers of a span head: decision and probabilities."""

import tensorflow as tf

from bert_span.answers.decoding import n_best
from bert_span.answers.decoding.answer_decoder import NO_SPAN_NULL_ODDS
from bert_span.answers.decoding.joint_probability import log_partition


def answer_columns(spans, null, example_index, log_sums, options):
  """All columns of `SpanDecoder` but the texts.

  Args:
    spans: `Entries` without null entries.
    null: `NullEntry`.
    example_index: int32 [windows].
    log_sums: `span_log_sums` of the windows; None without a temperature.
    options: `DecoderOptions`.

  Returns:
    Dict of tensors [examples], and of those named n_best_.. but n_best_count
    [examples, entries].
  """
  if options.version_2_with_negative:
    entries = n_best.with_null_entry(spans, null)
  else:
    # An empty list's first row of padding becomes its entry "", logits 0.
    entries = spans._replace(count=tf.maximum(spans.count, 1))
  has_span = spans.count > 0
  # As run_squad: subtracted one after the other.
  null_odds = null.score - spans.start_score[:, 0] - spans.end_score[:, 0]
  null_odds = tf.where(has_span, null_odds, NO_SPAN_NULL_ODDS)
  is_answerable, null_score = has_span, tf.zeros_like(null.score)
  if options.version_2_with_negative:
    is_answerable &= null_odds <= options.null_score_diff_threshold
    null_score = null.score
  score = tf.where(is_answerable, spans.score[:, 0], null_score)

  if options.temperature is not None:
    probability_of = _among_all_spans(null, example_index, log_sums, options)
  elif options.span_score == "mean_probability":
    probability_of = _score_itself(has_span)
  else:
    probability_of = _within_n_best(entries)
  probability = probability_of(
    score[:, tf.newaxis], spans.logit_sum[:, :1], is_answerable[:, tf.newaxis]
  )
  n_best_probability = probability_of(
    entries.score, entries.logit_sum, entries.char_end > entries.char_start
  )
  return {
    "char_start": tf.where(is_answerable, spans.char_start[:, 0], 0),
    "char_end": tf.where(is_answerable, spans.char_end[:, 0], 0),
    "score": score,
    "probability": probability[:, 0],
    "null_odds": null_odds,
    "is_answerable": is_answerable,
    "n_best_char_start": entries.char_start,
    "n_best_char_end": entries.char_end,
    "n_best_start_logit": entries.start_logit,
    "n_best_end_logit": entries.end_logit,
    "n_best_score": entries.score,
    "n_best_probability": tf.where(entries.is_entry, n_best_probability, 0.0),
    "n_best_count": entries.count,
  }


# Each of these gives a function of scores, logit sums and whether they are of
# a span, all [examples, any], that returns their probabilities.


def _within_n_best(entries):
  """As run_squad: the softmax over the scores of the n-best list."""
  scores = tf.where(entries.is_entry, entries.score, entries.score.dtype.min)
  highest = tf.reduce_max(scores, axis=1, keepdims=True)
  total = tf.reduce_sum(
    tf.exp(scores - highest), axis=1, keepdims=True
  )  # [examples, 1]; padding adds exp(-huge) = 0
  return lambda score, *_: tf.exp(score - highest) / total


def _score_itself(has_span):
  """Scores that are probabilities; 1 where no span is possible."""
  return lambda score, *_: tf.where(has_span[:, tf.newaxis], score, 1.0)


def _among_all_spans(null, example_index, log_sums, options):
  """Among all spans of the passage and "no answer", at a temperature."""
  null_logits = null.logit_sum - options.null_shift
  log_z = log_partition(
    log_sums, example_index, null_logits / options.temperature
  )

  def probability_of(_, logit_sum, is_span):
    logits = tf.where(is_span, logit_sum, null_logits[:, tf.newaxis])
    return tf.exp(logits / options.temperature - log_z[:, tf.newaxis])

  return probability_of
