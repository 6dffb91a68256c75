"""Candidates of a batch to n-best lists of distinct answers per example.

Lists are dense tables [examples, entries]; entries from `count` on are padding
and hold zeros: the empty span [0, 0), logits and scores 0.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_span.answers.decoding.answer_decoder import text_ids
from bert_span.answers.decoding.candidates import total_score


def _logit_sum(entries):
  """Start + end logit of each entry, in the type of the scores."""
  dtype = entries.start_score.dtype
  start = tf.cast(entries.start_logit, dtype)
  return start + tf.cast(entries.end_logit, dtype)


class Entries(NamedTuple):
  """The n-best list of each example, best first, padded with zeros."""

  char_start: tf.Tensor  # int32 [examples, entries], characters
  char_end: tf.Tensor  # int32 [examples, entries], characters, exclusive
  start_logit: tf.Tensor  # float32 [examples, entries]
  end_logit: tf.Tensor  # float32 [examples, entries]
  start_score: tf.Tensor  # float64 [examples, entries]
  end_score: tf.Tensor  # float64 [examples, entries]
  count: tf.Tensor  # int32 [examples], entries without padding

  score = property(total_score)
  logit_sum = property(_logit_sum)

  @property
  def is_entry(self):
    """False for padding: bool [examples, entries]."""
    return tf.sequence_mask(self.count, tf.shape(self.char_start)[1])


class NullEntry(NamedTuple):
  """How well "no answer" fits each example; zeros where it has no window."""

  start_logit: tf.Tensor  # float32 [examples], of [CLS]
  end_logit: tf.Tensor  # float32 [examples]
  start_score: tf.Tensor  # float64 [examples]
  end_score: tf.Tensor  # float64 [examples]

  score = property(total_score)
  logit_sum = property(_logit_sum)


def null_of_windows(start_logits, end_logits, start_scores, end_scores):
  """A NullEntry with a row a window: the logits and scores of its [CLS]."""
  # Sums over the slice [:, :1], as [:, 0] fails for a seq_length of zero.
  return NullEntry(
    *(
      tf.reduce_sum(values[:, :1], axis=1)
      for values in (start_logits, end_logits, start_scores, end_scores)
    )
  )


def null_entry(example_index, of_windows, examples):
  """The NullEntry of each example: that of its window with the lowest score.

  A question is unanswerable only if every window says so: hence the minimum.
  Of equal windows the first counts, as in run_squad. `example_index` is int32
  [windows], `of_windows` is `null_of_windows`, and `examples` their number.
  """
  scores = of_windows.score
  lowest = tf.math.unsorted_segment_min(scores, example_index, examples)
  windows = tf.size(scores)
  is_lowest = tf.equal(scores, tf.gather(lowest, example_index))
  window = tf.math.unsorted_segment_min(
    tf.where(is_lowest, tf.range(windows), windows), example_index, examples
  )  # [examples]; a huge number where there is no window
  window = tf.minimum(window, windows)
  return NullEntry(*(tf.gather(_with_zero(x), window) for x in of_windows))


def distinct_entries(candidates, characters, examples, n_best_size):
  """The best n_best_size candidates of each example that differ in text.

  Texts are compared only as deep into the ranking as necessary: first among
  the best 2 * n_best_size candidates of each example, then twice as deep, until
  every list is full or has all its candidates. The `Candidates` come best
  first; the `Entries` are [examples, n_best_size], without null entries.
  """
  rank, available = ranks(candidates.example_index, examples)

  def is_short(depth, kept):
    example_index = tf.gather(candidates.example_index, kept)
    _, found = ranks(example_index, examples)
    return tf.reduce_any((found < n_best_size) & (available > depth))

  def go_deeper(depth, _):
    depth *= 2
    return depth, _first_of_each_text(candidates, characters, rank < depth)

  depth = tf.constant(2 * n_best_size)
  _, kept = tf.while_loop(
    is_short,
    go_deeper,
    [depth, _first_of_each_text(candidates, characters, rank < depth)],
    shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
  )
  # The kept candidates as a table; padding gathers the zero after the last.
  example_index = tf.gather(candidates.example_index, kept)
  rank, found = ranks(example_index, examples)
  in_table = rank < n_best_size
  row = tf.tensor_scatter_nd_update(
    tf.fill([examples, n_best_size], tf.size(candidates.example_index)),
    tf.boolean_mask(tf.stack([example_index, rank], axis=1), in_table),
    tf.boolean_mask(tf.cast(kept, tf.int32), in_table),
  )
  return Entries(
    *(tf.gather(_with_zero(column), row) for column in candidates[2:]),
    count=tf.minimum(found, n_best_size),
  )


def with_null_entry(entries, null):
  """Adds the `NullEntry` to `Entries`: [examples, n] to [examples, n + 1].

  As run_squad: the null entry comes after spans of equal score. Among the first
  n entries it replaces the last one, else it is appended as number n + 1.
  """
  n = tf.shape(entries.char_start)[1]
  is_ahead = entries.is_entry & (entries.score >= null.score[:, tf.newaxis])
  place = tf.reduce_sum(tf.cast(is_ahead, tf.int32), axis=1)  # [examples]
  column = tf.range(n + 1)[tf.newaxis, :]
  # The null entry is appended as column n. Columns before its place stay, the
  # later ones move by one.
  source = tf.where(column < place[:, tf.newaxis], column, column - 1)
  source = tf.where(column == place[:, tf.newaxis], n, source)
  empty = tf.zeros_like(entries.count)
  count = tf.where(place < n, tf.minimum(entries.count + 1, n), n + 1)
  is_entry = tf.sequence_mask(count, n + 1)
  columns = []
  for values, appended in zip(entries[:-1], (empty, empty, *null), strict=True):
    values = tf.concat([values, appended[:, tf.newaxis]], axis=1)
    values = tf.gather(values, source, batch_dims=1)  # [examples, n + 1]
    columns.append(tf.where(is_entry, values, tf.zeros_like(values)))
  return Entries(*columns, count=count)


def _first_of_each_text(candidates, characters, is_considered):
  """Rows, int64, of considered candidates whose text is new."""
  row = tf.where(is_considered)[:, 0]
  ids, count = text_ids(
    characters, *(tf.gather(column, row) for column in candidates[1:4])
  )
  first = tf.math.unsorted_segment_min(tf.range(tf.size(ids)), ids, count)
  return tf.gather(row, first)


def ranks(example_index, examples):
  """Ranks of rows within their example, and rows of each example: int32.

  `example_index` is int32 [rows], ascending.
  """
  rows = tf.math.unsorted_segment_sum(
    tf.ones_like(example_index), example_index, examples
  )
  first = tf.cumsum(rows, exclusive=True)
  rank = tf.range(tf.size(example_index)) - tf.gather(first, example_index)
  return rank, rows


def _with_zero(values):
  """[rows] to [rows + 1]: a zero that padding can gather."""
  return tf.concat([values, tf.zeros([1], values.dtype)], axis=0)
