"""Makes candidates of start and end logits, and n-best lists of candidates.

A candidate is a pair of positions of one window, inclusive at both ends. The
rules are run_squad's (write_predictions). An example with n_best_size = 2:

    position       0      1     2      3      4     5      6
    token        [CLS]  who?  [SEP]   Ada   Love  ##lace  [SEP]
    start_logit    1      0     0      7      3     2      0
    end_logit      1      0     0      2      6     5      8

The two best starts are positions 3 and 4, the two best ends 6 and 4. They are
the best of the whole row: end 6, outside the passage, takes one of the two
places and is dropped afterwards. The candidates are (3, 4) with score 13 and
(4, 4) with score 9.

N-best lists are dense tables [examples, entries]. Entries after the first
`count` are padding with zeros: the empty span [0, 0), logits and scores 0.
"""

from typing import NamedTuple

import tensorflow as tf

from bert_span.answers.decoding.answer_decoder import first_of_each_text, ranks


def _score(columns):
  """Returns start + end score of each row, float64; spans are sorted by it."""
  return columns.start_score + columns.end_score


def _logit_sum(columns):
  """Returns start + end logit of each row, float64."""
  start = tf.cast(columns.start_logit, tf.float64)
  return start + tf.cast(columns.end_logit, tf.float64)


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

  score = property(_score)


class Entries(NamedTuple):
  """The n-best list of each example, best first, padded with zeros.

  Columns are as in `Candidates`, but [examples, entries].
  """

  char_start: tf.Tensor
  char_end: tf.Tensor
  start_logit: tf.Tensor
  end_logit: tf.Tensor
  start_score: tf.Tensor
  end_score: tf.Tensor
  count: tf.Tensor  # int32 [examples], entries without padding

  score = property(_score)
  logit_sum = property(_logit_sum)

  @property
  def is_entry(self):
    """Bool [examples, entries], False for padding."""
    return tf.sequence_mask(self.count, tf.shape(self.char_start)[1])


class NullEntry(NamedTuple):
  """Logits and scores of "no answer" ([CLS]) of each example or window."""

  start_logit: tf.Tensor  # float32 [examples]; 0 without a window
  end_logit: tf.Tensor
  start_score: tf.Tensor  # float64 [examples]
  end_score: tf.Tensor

  score = property(_score)
  logit_sum = property(_logit_sum)


def position_scores(logits, padding_mask, span_score):
  """Returns what each start (or end) adds to a span's score, float64.

  run_squad adds Python floats, too: sums of float32 can tie.
  """
  scores = tf.cast(logits, tf.float64)  # [windows, seq_length]
  if span_score == "logit_sum":
    return scores
  # Half of the softmax over the window's tokens without padding.
  scores = tf.where(tf.cast(padding_mask, tf.bool), scores, tf.float64.min)
  return tf.nn.softmax(scores, axis=-1) / 2


def span_positions(windows):
  """Returns where spans may start, and may end: bool [windows, seq_length]."""
  # Context tokens have at least one character; all others have [-1, -1).
  in_context = windows["token_char_ends"] > windows["token_char_starts"]
  # As run_squad: the start must have its maximal context here, not the end.
  return tf.logical_and(in_context, windows["is_max_context"]), in_context


def span_candidates(
  windows, start_logits, end_logits, start_scores, end_scores, options
):
  """Returns the `Candidates` of all windows, by (window, start, end rank).

  Logits and `position_scores` are [windows, seq_length].

  Source: google-research/bert, run_squad.py, write_predictions.
  """
  may_start, in_context = span_positions(windows)
  # tf.math.top_k puts the lower position first among equal logits.
  places = tf.minimum(options.n_best_size, tf.shape(start_logits)[1])
  starts = tf.math.top_k(start_logits, k=places).indices  # [windows, places]
  ends = tf.math.top_k(end_logits, k=places).indices  # [windows, places]
  may_start = tf.gather(may_start, starts, batch_dims=1)
  may_end = tf.gather(in_context, ends, batch_dims=1)
  # WordPieces of each pair, [windows, places of starts, places of ends].
  length = ends[:, tf.newaxis] - starts[:, :, tf.newaxis] + 1
  # tf.where lists row by row, which is the order of candidates.
  pair = tf.where(
    may_start[:, :, tf.newaxis]
    & may_end[:, tf.newaxis]
    & (length >= 1)
    & (length <= options.max_answer_length)
  )  # [candidates, 3]
  window = tf.cast(pair[:, 0], tf.int32)
  start = tf.stack([window, tf.gather_nd(starts, pair[:, :2])], axis=1)
  end = tf.stack([window, tf.gather_nd(ends, pair[:, ::2])], axis=1)
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


def null_entry(example_index, window_nulls, examples):
  """Returns the `NullEntry` of each example's window with the lowest score.

  The minimum is used because a question is unanswerable only if it is so in
  every window. Among equal windows the first counts, as in run_squad.
  """
  scores, windows = window_nulls.score, tf.size(example_index)
  lowest = tf.math.unsorted_segment_min(scores, example_index, examples)
  is_lowest = tf.equal(scores, tf.gather(lowest, example_index))
  window = tf.math.unsorted_segment_min(
    tf.where(is_lowest, tf.range(windows), windows), example_index, examples
  )  # [examples]; a huge number where there is no window
  window = tf.minimum(window, windows)
  return NullEntry(*(tf.gather(_with_zero(x), window) for x in window_nulls))


def distinct_entries(candidates, characters, examples, n_best_size):
  """Returns the best n_best_size candidates with distinct texts, as `Entries`.

  Texts are compared among the best 2 * n_best_size candidates of each example,
  then among twice as many, until each list is full or has all candidates. No
  null entry is among them.
  """
  # By example, then by score. tf.argsort is stable in both directions: equal
  # scores keep their order.
  order = tf.argsort(candidates.score, direction="DESCENDING", stable=True)
  by_score = tf.gather(candidates.example_index, order)
  order = tf.gather(order, tf.argsort(by_score, stable=True))
  candidates = Candidates(*(tf.gather(column, order) for column in candidates))
  rank, available = ranks(candidates.example_index, examples)

  def distinct(depth):
    """Returns the rows with a new text among candidates above this rank."""
    row = tf.where(rank < depth)[:, 0]
    columns = (tf.gather(column, row) for column in candidates[1:4])
    return tf.gather(row, first_of_each_text(characters, *columns))

  def is_short(depth, kept):
    _, num_texts = ranks(tf.gather(candidates.example_index, kept), examples)
    return tf.reduce_any((num_texts < n_best_size) & (available > depth))

  depth = tf.constant(2 * n_best_size)
  _, kept = tf.while_loop(
    is_short,
    lambda depth, _: (2 * depth, distinct(2 * depth)),
    [depth, distinct(depth)],
    shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
  )
  # A table of the kept candidates; padding gathers the zero after the last.
  example_index = tf.gather(candidates.example_index, kept)
  rank_kept, num_texts = ranks(example_index, examples)
  in_table = rank_kept < n_best_size
  row = tf.tensor_scatter_nd_update(
    tf.fill([examples, n_best_size], tf.size(candidates.example_index)),
    tf.boolean_mask(tf.stack([example_index, rank_kept], axis=1), in_table),
    tf.boolean_mask(tf.cast(kept, tf.int32), in_table),
  )
  return Entries(
    *(tf.gather(_with_zero(column), row) for column in candidates[2:]),
    count=tf.minimum(num_texts, n_best_size),
  )


def with_null_entry(entries, null):
  """Adds the `NullEntry` to `Entries`: [examples, n] to [examples, n + 1].

  As run_squad: the null entry comes after spans of equal score. If it is among
  the first n entries, the last span is dropped, else it is entry n + 1.
  """
  n = tf.shape(entries.char_start)[1]
  is_ahead = entries.is_entry & (entries.score >= null.score[:, tf.newaxis])
  place = tf.reduce_sum(tf.cast(is_ahead, tf.int32), axis=1)  # [examples]
  column = tf.range(n + 1)[tf.newaxis, :]
  # The null entry is appended as column n, then moved to its place. The columns
  # after that place move by one.
  source = tf.where(column < place[:, tf.newaxis], column, column - 1)
  source = tf.where(column == place[:, tf.newaxis], n, source)
  count = tf.where(place < n, tf.minimum(entries.count + 1, n), n + 1)
  is_entry = tf.sequence_mask(count, n + 1)
  offset, columns = tf.zeros_like(count), []
  for values, last in zip(entries[:-1], (offset, offset, *null), strict=True):
    values = tf.concat([values, last[:, tf.newaxis]], axis=1)
    values = tf.gather(values, source, batch_dims=1)  # [examples, n + 1]
    columns.append(tf.where(is_entry, values, tf.zeros_like(values)))
  return Entries(*columns, count=count)


def _with_zero(values):
  """Appends a zero, which padding gathers: [rows] to [rows + 1]."""
  return tf.concat([values, tf.zeros([1], values.dtype)], axis=0)
