"""Candidates of one question to its n-best list, by ops that TFLite has.

What answers/decoding/n_best.py does with strings is done with bytes: TFLite
cannot cut or join strings.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_span.answers.decoding.n_best import Entries, NullEntry


class _List(NamedTuple):
  """The n-best list while it grows; entries from `count` on are zeros.

  Attributes:
    row: int32 scalar, the candidate that is looked at next.
    count: int32 scalar, entries.
    rows: int32 [n], the candidate of each entry.
  """

  row: tf.Tensor
  count: tf.Tensor
  rows: tf.Tensor


def distinct_entries(candidates, context_bytes, n_best_size):
  """The best n_best_size candidates that differ in text.

  Candidates are taken in order of score, and left out where an entry has the
  same bytes already.

  Args:
    candidates: `Candidates` of one question, offsets in bytes.
    context_bytes: int32 [bytes].
    n_best_size: int, the entries wanted.

  Returns:
    `Entries` [1, n_best_size], without null entries.
  """
  num_candidates = tf.size(candidates.char_start)
  # One more, so that nothing is empty: TFLite cannot sort nothing.
  padded = [tf.concat([column, _zero(column)], 0) for column in candidates]
  padded = type(candidates)(*padded)
  is_real = tf.range(num_candidates + 1) < num_candidates
  score = tf.where(is_real, padded.score, padded.score.dtype.min)
  # Of equal scores the lower row comes first, as in a stable sort.
  order = tf.math.top_k(score, k=num_candidates + 1).indices
  ranked = type(candidates)(*(tf.gather(column, order) for column in padded))
  found = _first_of_each_text(
    ranked, context_bytes, num_candidates, n_best_size
  )
  is_entry = tf.range(n_best_size) < found.count
  columns = [tf.gather(column, found.rows) for column in ranked[2:]]
  return Entries(
    *(
      tf.where(is_entry, column, tf.zeros_like(column))[tf.newaxis]
      for column in columns
    ),
    count=found.count[tf.newaxis],
  )


def null_entry(num_windows, of_windows):
  """The null entry of the window with the lowest score.

  Args:
    num_windows: int32 scalar; rows behind them do not count.
    of_windows: `NullEntry` of at least num_windows windows, and of one.

  Returns:
    `NullEntry` [1]; zeros where there is no window.
  """
  scores = of_windows.score
  is_window = tf.range(tf.size(scores)) < num_windows
  # tf.argmin gives the first of equal ones.
  scores = tf.where(is_window, scores, scores.dtype.max)
  lowest = tf.argmin(scores, output_type=tf.int32)[tf.newaxis]
  has_window = num_windows > 0
  return NullEntry(
    *(tf.where(has_window, tf.gather(x, lowest), 0.0) for x in of_windows)
  )


def _first_of_each_text(ranked, context_bytes, num_candidates, n_best_size):
  """A `_List` of the first candidates whose texts differ.

  Args:
    ranked: `Candidates`, best first, one of padding at the end.
    context_bytes: int32 [bytes].
    num_candidates: int32 scalar, those that are no padding.
    n_best_size: int.
  """
  starts, ends = ranked.char_start, ranked.char_end
  context_bytes = tf.concat([context_bytes, [0]], 0)
  # As many as the longest candidate has; of shorter ones -1 behind the end.
  offsets = tf.range(tf.reduce_max(ends - starts) + 1)[tf.newaxis]

  def texts(rows):
    """int32 [rows, longest]."""
    begin = tf.gather(starts, rows)[:, tf.newaxis]
    end = tf.gather(ends, rows)[:, tf.newaxis]
    is_inside = begin + offsets < end
    place = tf.where(is_inside, begin + offsets, 0)
    return tf.where(is_inside, tf.gather(context_bytes, place), -1)

  def is_short(row, count, rows):
    del rows
    return (row < num_candidates) & (count < n_best_size)

  def look(row, count, rows):
    equal = tf.reduce_all(tf.equal(texts(rows), texts(row[tf.newaxis])), axis=1)
    entries = tf.range(n_best_size)
    is_known = tf.reduce_any(equal & (entries < count))
    rows = tf.where((entries == count) & ~is_known, row, rows)
    return row + 1, tf.where(is_known, count, count + 1), rows

  start = (tf.constant(0), tf.constant(0), tf.zeros([n_best_size], tf.int32))
  return _List(*tf.while_loop(is_short, look, start))


def _zero(column):
  return tf.zeros([1], column.dtype)
