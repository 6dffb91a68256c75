"""Start and end logits to every span that may be an answer, in TensorFlow ops.

A candidate is a pair of positions of one window, inclusive at both ends. The
rules are run_squad's (write_predictions). An example with n_best_size = 2:

    position       0      1     2      3      4     5      6
    token        [CLS]  who?  [SEP]   Ada   Love  ##lace  [SEP]
    start_logit    1      0     0      7      3     2      0
    end_logit      1      0     0      2      6     5      8

The two best starts are positions 3 and 4, the two best ends 6 and 4. They are
the best of the whole row: the end outside the passage takes one of the two
places and is dropped afterwards. The candidates are (3, 4) with score 13 and
(4, 4) with score 9.
"""

from typing import NamedTuple

import tensorflow as tf


def total_score(columns):
  """What orders spans: the sum of their start and end scores, float64."""
  return columns.start_score + columns.end_score


class Candidates(NamedTuple):
  """Spans of a batch of examples, one a row."""

  window: tf.Tensor  # int32 [candidates], the row of the window
  example_index: tf.Tensor  # int32 [candidates], the row of the example
  char_start: tf.Tensor  # int32 [candidates], characters
  char_end: tf.Tensor  # int32 [candidates], characters, exclusive
  start_logit: tf.Tensor  # float32 [candidates]
  end_logit: tf.Tensor  # float32 [candidates]
  start_score: tf.Tensor  # float64 [candidates], see position_scores
  end_score: tf.Tensor  # float64 [candidates]

  score = property(total_score)


def position_scores(logits, input_mask, span_score, dtype=tf.float64):
  """What each position adds to the score of a span that starts (ends) there.

  logit_sum: the logit itself, so that a span scores start + end.
  mean_probability: half the softmax over the window's real tokens, so that a
  span scores the mean of its start's and its end's probability.

  float64, because run_squad adds Python floats: two float32 sums can tie where
  the sums of the same logits in float64 do not. TFLite has float32 only.
  """
  scores = tf.cast(logits, dtype)  # [windows, seq_length]
  if span_score == "logit_sum":
    return scores
  scores = tf.where(tf.cast(input_mask, tf.bool), scores, dtype.min)
  return tf.nn.softmax(scores, axis=-1) / 2


def span_positions(windows):
  """Where a span may start and where it may end: bool [windows, seq_length]."""
  # Context tokens have at least one character; all others have [-1, -1).
  in_context = windows["token_char_ends"] > windows["token_char_starts"]
  # As run_squad: only the start must be max-context, the end need not be.
  return tf.logical_and(in_context, windows["is_max_context"]), in_context


def span_candidates(
  windows, start_logits, end_logits, start_scores, end_scores, options
):
  """Every candidate of every window, in the order (window, start, end rank).

  Both positions hold context tokens, the start has its maximal context in this
  window, the end is not before the start, and the span is at most
  max_answer_length WordPieces long. Logits and scores, of `position_scores`,
  are [windows, seq_length].

  Source: google-research/bert, run_squad.py, write_predictions.
  """
  may_start, in_context = span_positions(windows)
  # tf.math.top_k puts the lower position first among equal logits.
  ranks = tf.minimum(options.n_best_size, tf.shape(start_logits)[1])
  starts = tf.math.top_k(start_logits, k=ranks).indices  # [windows, ranks]
  ends = tf.math.top_k(end_logits, k=ranks).indices  # [windows, ranks]

  # Starts are filtered before they are paired: [starts, ranks] is far smaller
  # than [windows, ranks, ranks]. tf.where lists row by row: the wanted order.
  start_at = tf.where(tf.gather(may_start, starts, batch_dims=1))
  window = tf.cast(start_at[:, 0], tf.int32)  # [starts]
  start = tf.gather_nd(starts, start_at)  # [starts]
  may_end = tf.gather(in_context, ends, batch_dims=1)  # [windows, ranks]
  ends = tf.gather(ends, window)  # [starts, ranks]
  length = ends - start[:, tf.newaxis] + 1  # WordPieces
  pair_at = tf.where(
    tf.gather(may_end, window)
    & (length >= 1)
    & (length <= options.max_answer_length)
  )
  window = tf.gather(window, pair_at[:, 0])  # [candidates]
  start = tf.stack([window, tf.gather(start, pair_at[:, 0])], axis=1)
  end = tf.stack([window, tf.gather_nd(ends, pair_at)], axis=1)
  return Candidates(
    window=window,
    example_index=tf.gather(windows["example_index"], window),
    char_start=tf.gather_nd(windows["token_char_starts"], start),
    char_end=tf.gather_nd(windows["token_char_ends"], end),
    start_logit=tf.gather_nd(start_logits, start),
    end_logit=tf.gather_nd(end_logits, end),
    start_score=tf.gather_nd(start_scores, start),
    end_score=tf.gather_nd(end_scores, end),
  )


def best_first(candidates):
  """The same candidates by example, then by score, the best first."""
  # tf.argsort is stable in both directions: equal scores keep their order.
  order = tf.argsort(candidates.score, direction="DESCENDING", stable=True)
  by_score = tf.gather(candidates.example_index, order)
  order = tf.gather(order, tf.argsort(by_score, stable=True))
  return Candidates(*(tf.gather(column, order) for column in candidates))
