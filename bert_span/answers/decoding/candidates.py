"""Start and end logits to every span that may be an answer, in TensorFlow ops.

A candidate is a pair of positions of one window, inclusive at both ends. The
rules are run_squad's (write_predictions), with n_best_size = 2 for example:

    position       0      1     2      3      4     5      6
    token        [CLS]  who?  [SEP]   Ada   Love  ##lace  [SEP]
    start_logit    1      0     0      7      3     2      0
    end_logit      1      0     0      2      6     5      8

The two best starts are positions 3 and 4, the two best ends 6 and 4: over the
whole row, so that an end outside the passage takes a place and is then thrown
away. The pairs that stay are (3, 4) with score 13 and (4, 4) with score 9.
"""

from typing import NamedTuple

import tensorflow as tf


class Candidates(NamedTuple):
  """Spans of a batch of examples, one per row.

  Attributes:
    window: int32 [candidates], the row of its window.
    example_index: int32 [candidates], the example's row in the batch.
    char_start: int32 [candidates], characters into the context.
    char_end: int32 [candidates], characters, exclusive.
    start_logit: float32 [candidates].
    end_logit: float32 [candidates].
    start_score: float64 [candidates], see position_scores.
    end_score: float64 [candidates].
  """

  window: tf.Tensor
  example_index: tf.Tensor
  char_start: tf.Tensor
  char_end: tf.Tensor
  start_logit: tf.Tensor
  end_logit: tf.Tensor
  start_score: tf.Tensor
  end_score: tf.Tensor

  @property
  def score(self):
    """What orders the candidates: float64 [candidates]."""
    return self.start_score + self.end_score


def position_scores(logits, input_mask, span_score, dtype=tf.float64):
  """What each position adds to the score of a span that starts (ends) there.

  logit_sum: the logit itself, so that a span scores start + end.
  mean_probability: half the softmax over the window's real tokens, so that a
  span scores the mean of its start's and its end's probability.

  float64, because run_squad adds Python floats: two float32 sums can tie where
  the sums of the same logits in float64 do not.

  Args:
    logits: float32 [windows, seq_length].
    input_mask: int32 [windows, seq_length], 1 for real tokens, 0 for padding.
    span_score: "logit_sum" or "mean_probability".
    dtype: tf.float64, or tf.float32 for runtimes that have no float64.

  Returns:
    dtype [windows, seq_length].
  """
  scores = tf.cast(logits, dtype)
  if span_score == "logit_sum":
    return scores
  scores = tf.where(tf.cast(input_mask, tf.bool), scores, dtype.min)
  return tf.nn.softmax(scores, axis=-1) / 2


def span_positions(windows):
  """Where a span may start, and where it may end.

  Args:
    windows: dict of tensors of text/windows.py.

  Returns:
    (may_start, may_end), bool [windows, seq_length].
  """
  # Context tokens have at least one character; all others have [-1, -1).
  in_context = windows["token_char_ends"] > windows["token_char_starts"]
  # As run_squad: only the start must be max-context, the end need not be.
  return tf.logical_and(in_context, windows["is_max_context"]), in_context


def span_candidates(
  windows, start_logits, end_logits, start_scores, end_scores, options
):
  """Every candidate of every window, in the order (window, start, end rank).

  A pair stays if both positions hold context tokens, the start has its maximal
  context in this window, the end is not before the start and the span is at
  most max_answer_length WordPieces long.

  Args:
    windows: dict of tensors of text/windows.py.
    start_logits: float32 [windows, seq_length].
    end_logits: float32 [windows, seq_length].
    start_scores: float64 [windows, seq_length], see position_scores.
    end_scores: float64 [windows, seq_length].
    options: DecoderOptions.

  Returns:
    Candidates.

  Source: google-research/bert, run_squad.py, write_predictions.
  """
  window, start, end = _candidate_positions(
    windows, start_logits, end_logits, options
  )
  at_start = tf.stack([window, start], axis=1)  # [candidates, 2]
  at_end = tf.stack([window, end], axis=1)
  return Candidates(
    window=window,
    example_index=tf.gather(windows["example_index"], window),
    char_start=tf.gather_nd(windows["token_char_starts"], at_start),
    char_end=tf.gather_nd(windows["token_char_ends"], at_end),
    start_logit=tf.gather_nd(start_logits, at_start),
    end_logit=tf.gather_nd(end_logits, at_end),
    start_score=tf.gather_nd(start_scores, at_start),
    end_score=tf.gather_nd(end_scores, at_end),
  )


def best_first(candidates):
  """The same candidates by example, then best score first.

  Equal scores keep their order (tf.argsort is stable in both directions).
  """
  order = tf.argsort(candidates.score, direction="DESCENDING", stable=True)
  by_score = tf.gather(candidates.example_index, order)
  order = tf.gather(order, tf.argsort(by_score, stable=True))
  return Candidates(*(tf.gather(column, order) for column in candidates))


def _candidate_positions(windows, start_logits, end_logits, options):
  """Window, start and end position of each candidate, int32 [candidates]."""
  may_start, in_context = span_positions(windows)
  starts = _best_positions(start_logits, options.n_best_size)
  ends = _best_positions(end_logits, options.n_best_size)  # [windows, ranks]

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
  row = pair_at[:, 0]
  return (
    tf.gather(window, row),
    tf.gather(start, row),
    tf.gather_nd(ends, pair_at),
  )


def _best_positions(logits, n_best_size):
  """Positions of the highest logits, int32 [windows, ranks], best first.

  Of equal logits the lower position comes first (tf.math.top_k promises it).
  """
  ranks = tf.minimum(n_best_size, tf.shape(logits)[1])
  return tf.math.top_k(logits, k=ranks).indices
