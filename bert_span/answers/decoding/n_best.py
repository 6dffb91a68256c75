"""Candidates of a batch to n-best lists of distinct answers per example.

Lists are dense tables [examples, entries]; entries from `count` on are padding
and hold zeros: the empty span [0, 0), logits and scores 0.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_span.answers.decoding import span_text


class Entries(NamedTuple):
  """The n-best list of each example, best first, padded with zeros.

  Attributes:
    char_start: int32 [examples, entries], characters.
    char_end: int32 [examples, entries], characters, exclusive.
    start_logit: float32 [examples, entries].
    end_logit: float32 [examples, entries].
    start_score: float64 [examples, entries].
    end_score: float64 [examples, entries].
    count: int32 [examples], entries that are no padding.
  """

  char_start: tf.Tensor
  char_end: tf.Tensor
  start_logit: tf.Tensor
  end_logit: tf.Tensor
  start_score: tf.Tensor
  end_score: tf.Tensor
  count: tf.Tensor

  @property
  def score(self):
    """Total score of each entry: float64 [examples, entries]."""
    return self.start_score + self.end_score

  @property
  def logit_sum(self):
    """Start + end logit of each entry, in the type of the scores."""
    return _logit_sum(self)

  @property
  def is_entry(self):
    """Whether each entry is no padding: bool [examples, entries]."""
    return tf.sequence_mask(self.count, tf.shape(self.char_start)[1])


class NullEntry(NamedTuple):
  """How well "no answer" fits each example; zeros where it has no window.

  Attributes:
    start_logit: float32 [examples], of [CLS] in the least null window.
    end_logit: float32 [examples].
    start_score: float64 [examples].
    end_score: float64 [examples].
  """

  start_logit: tf.Tensor
  end_logit: tf.Tensor
  start_score: tf.Tensor
  end_score: tf.Tensor

  @property
  def score(self):
    """Total score of the entry: float64 [examples]."""
    return self.start_score + self.end_score

  @property
  def logit_sum(self):
    """Start + end logit of the entry, in the type of the scores."""
    return _logit_sum(self)


def null_of_windows(start_logits, end_logits, start_scores, end_scores):
  """How well "no answer" fits each window: what [CLS] has there.

  Args:
    start_logits: float32 [windows, seq_length].
    end_logits: float32 [windows, seq_length].
    start_scores: float64 [windows, seq_length], see position_scores.
    end_scores: float64 [windows, seq_length].

  Returns:
    NullEntry with windows in the place of examples.
  """
  # Sums over the slice [:, :1], as [:, 0] fails for a seq_length of zero.
  return NullEntry(
    *(
      tf.reduce_sum(values[:, :1], axis=1)
      for values in (start_logits, end_logits, start_scores, end_scores)
    )
  )


def null_entry(example_index, of_windows, examples):
  """The null entry of each example: of its window with the lowest score.

  A question is unanswerable only if every window says so: hence the minimum.
  Of equal windows the first counts, as in run_squad.

  Args:
    example_index: int32 [windows].
    of_windows: `null_of_windows`.
    examples: int32 scalar, the batch's number of examples.

  Returns:
    NullEntry.
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

  Texts are compared only as deep into the ranking as it takes: first among the
  best 2 * n_best_size candidates of each example, then twice as deep, until
  every list is full or all its candidates are seen.

  Args:
    candidates: Candidates, best_first.
    characters: ragged int32 [examples, (characters)].
    examples: int32 scalar, the batch's number of examples.
    n_best_size: int, the entries wanted.

  Returns:
    Entries [examples, n_best_size], without null entries.
  """
  rank, available = _ranks(candidates.example_index, examples)

  def is_short(depth, kept):
    example_index = tf.gather(candidates.example_index, kept)
    _, found = _ranks(example_index, examples)
    return tf.reduce_any((found < n_best_size) & (available > depth))

  def go_deeper(depth, _):
    depth *= 2
    return depth, _first_of_each_text(candidates, characters, rank < depth)

  depth = tf.constant(2 * n_best_size)
  kept = _first_of_each_text(candidates, characters, rank < depth)
  _, kept = tf.while_loop(
    is_short,
    go_deeper,
    [depth, kept],
    shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
  )
  return _table(candidates, kept, examples, n_best_size)


def with_null_entry(entries, null):
  """The lists with the null entry where its score puts it.

  As run_squad: the null entry stands behind spans of equal score; if it is
  among the first n entries it takes the place of one, else it is appended as
  number n + 1.

  Args:
    entries: Entries [examples, n] without null entries.
    null: NullEntry.

  Returns:
    Entries [examples, n + 1].
  """
  n = tf.shape(entries.char_start)[1]
  is_ahead = entries.is_entry & (entries.score >= null.score[:, tf.newaxis])
  place = tf.reduce_sum(tf.cast(is_ahead, tf.int32), axis=1)  # [examples]
  column = tf.range(n + 1)[tf.newaxis, :]
  # Columns before the null entry come from their own place, those behind from
  # one before; the null entry waits in column n.
  source = tf.where(column < place[:, tf.newaxis], column, column - 1)
  source = tf.where(column == place[:, tf.newaxis], n, source)
  empty = tf.zeros_like(entries.count)
  count = tf.where(place < n, tf.minimum(entries.count + 1, n), n + 1)
  is_entry = tf.sequence_mask(count, n + 1)
  columns = []
  for values, waiting in zip(entries[:-1], (empty, empty, *null), strict=True):
    values = tf.concat([values, waiting[:, tf.newaxis]], axis=1)
    values = tf.gather(values, source, batch_dims=1)  # [examples, n + 1]
    columns.append(tf.where(is_entry, values, tf.zeros_like(values)))
  return Entries(*columns, count=count)


def _first_of_each_text(candidates, characters, is_considered):
  """Rows, int64 [kept], of considered candidates whose text is new."""
  row = tf.where(is_considered)[:, 0]
  example_index = tf.gather(candidates.example_index, row)
  texts = span_text.span_texts(
    characters,
    example_index,
    tf.gather(candidates.char_start, row),
    tf.gather(candidates.char_end, row),
  )
  # Digits and a blank before the text keep the examples apart.
  keys = tf.strings.join([tf.strings.as_string(example_index), texts], " ")
  distinct, text_id = tf.unique(keys)
  order = tf.range(tf.size(text_id))
  first = tf.math.unsorted_segment_min(order, text_id, tf.size(distinct))
  return tf.gather(row, first)  # tf.unique numbers texts as they first come


def _ranks(example_index, examples):
  """Rank of each row in its example and the rows of each example, int32.

  Args:
    example_index: int32 [rows], ascending.
    examples: int32 scalar.
  """
  rows = tf.math.unsorted_segment_sum(
    tf.ones_like(example_index), example_index, examples
  )
  first = tf.cumsum(rows, exclusive=True)
  rank = tf.range(tf.size(example_index)) - tf.gather(first, example_index)
  return rank, rows


def _table(candidates, kept, examples, n_best_size):
  """Candidates in the rows `kept` as Entries [examples, n_best_size]."""
  example_index = tf.gather(candidates.example_index, kept)
  rank, found = _ranks(example_index, examples)
  in_table = rank < n_best_size
  padding = tf.size(candidates.example_index)
  row = tf.tensor_scatter_nd_update(
    tf.fill([examples, n_best_size], padding),
    tf.boolean_mask(tf.stack([example_index, rank], axis=1), in_table),
    tf.boolean_mask(tf.cast(kept, tf.int32), in_table),
  )
  return Entries(
    *(tf.gather(_with_zero(column), row) for column in candidates[2:]),
    count=tf.minimum(found, n_best_size),
  )


def _logit_sum(entries):
  dtype = entries.start_score.dtype
  start = tf.cast(entries.start_logit, dtype)
  return start + tf.cast(entries.end_logit, dtype)


def _with_zero(values):
  """[rows] to [rows + 1]: a zero that padding can gather."""
  return tf.concat([values, tf.zeros([1], values.dtype)], axis=0)
