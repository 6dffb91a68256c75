"""Candidates of one question to its n-best list, by ops that TFLite has.

TFLite cannot slice or join strings: unlike answers/decoding/n_best.py, this
module compares the bytes of the answers.
"""

import tensorflow as tf

from bert_span.answers.decoding.n_best import Entries, NullEntry


def distinct_entries(candidates, context_bytes, n_best_size):
  """Returns the best candidates that differ in text.

  From the `Candidates` of one question, with offsets in context_bytes, int32
  [bytes], to `Entries` [1, n_best_size] without null entries.
  """
  num_candidates = tf.size(candidates.char_start)
  # One more candidate, since TFLite cannot sort an empty tensor.
  padded = [
    tf.concat([column, tf.zeros([1], column.dtype)], 0) for column in candidates
  ]
  padded = type(candidates)(*padded)
  is_real = tf.range(num_candidates + 1) < num_candidates
  score = tf.where(is_real, padded.score, padded.score.dtype.min)
  # Of equal scores the lower row comes first, as in a stable sort.
  order = tf.math.top_k(score, k=num_candidates + 1).indices
  ranked = type(candidates)(*(tf.gather(column, order) for column in padded))
  count, rows = _first_of_each_text(
    ranked, context_bytes, num_candidates, n_best_size
  )
  is_entry = tf.range(n_best_size) < count
  columns = [tf.gather(column, rows) for column in ranked[2:]]
  return Entries(
    *(
      tf.where(is_entry, column, tf.zeros_like(column))[tf.newaxis]
      for column in columns
    ),
    count=count[tf.newaxis],
  )


def null_entry(num_windows, of_windows):
  """Returns the `NullEntry` [1] of the window with the lowest score.

  Rows of `of_windows` from num_windows on are padding. Zeros for no window.
  """
  scores = of_windows.score
  is_window = tf.range(tf.size(scores)) < num_windows
  # tf.argmin returns the first of equal ones.
  scores = tf.where(is_window, scores, scores.dtype.max)
  lowest = tf.argmin(scores, output_type=tf.int32)[tf.newaxis]
  has_window = num_windows > 0
  return NullEntry(
    *(tf.where(has_window, tf.gather(x, lowest), 0.0) for x in of_windows)
  )


def _first_of_each_text(ranked, context_bytes, num_candidates, n_best_size):
  """Selects the first of `ranked` whose texts differ; the last one is padding.

  Returns:
    int32 scalar, the number of entries, and int32 [n_best_size], the candidate
    of each entry.
  """
  starts, ends = ranked.char_start, ranked.char_end
  context_bytes = tf.concat([context_bytes, [0]], 0)
  # As many as in the longest candidate; shorter ones are padded with -1.
  offsets = tf.range(tf.reduce_max(ends - starts) + 1)[tf.newaxis]

  def texts(rows):
    """int32 [rows, longest]."""
    begin = tf.gather(starts, rows)[:, tf.newaxis]
    end = tf.gather(ends, rows)[:, tf.newaxis]
    is_inside = begin + offsets < end
    place = tf.where(is_inside, begin + offsets, 0)
    return tf.where(is_inside, tf.gather(context_bytes, place), -1)

  def has_room(row, count, rows):
    del rows
    return (row < num_candidates) & (count < n_best_size)

  def add(row, count, rows):
    equal = tf.reduce_all(tf.equal(texts(rows), texts(row[tf.newaxis])), axis=1)
    entries = tf.range(n_best_size)
    is_known = tf.reduce_any(equal & (entries < count))
    rows = tf.where((entries == count) & ~is_known, row, rows)
    return row + 1, tf.where(is_known, count, count + 1), rows

  start = (tf.constant(0), tf.constant(0), tf.zeros([n_best_size], tf.int32))
  _, count, rows = tf.while_loop(has_room, add, start)
  return count, rows
