"""Cuts question and passage into the overlapping windows that BERT reads.

A passage longer than the encoder is read in windows; each repeats the
question. With max_seq_length 10, doc_stride 2 and a question of two tokens, a
window has room for 10 - 2 - 3 = 5 tokens of the passage t0 .. t7:

    [CLS] q0 q1 [SEP] t0 t1 t2 t3 t4 [SEP]      window 0
    [CLS] q0 q1 [SEP] t2 t3 t4 t5 t6 [SEP]      window 1
    [CLS] q0 q1 [SEP] t4 t5 t6 t7 [SEP]         window 2

A token such as t4 stands in several windows. The one that shows the most of
its surroundings is its max-context window, and only there may an answer start:
t4 has min(left, right) = min(4, 0) = 0 in window 0, min(2, 2) = 2 in window 1
and min(0, 3) = 0 in window 2, so window 1 it is.
"""

import dataclasses
from typing import NamedTuple

import keras
import tensorflow as tf

from bert_span.text.options import NUM_SPECIAL_TOKENS, WindowOptions
from bert_span.text.tokenizer import Tokens

# Windows of any length are padded to a multiple of it, in WordPieces: every new
# length costs a new plan of memory, and few shapes suit the kernels better.
LENGTH_MULTIPLE = 32


class PlacedWindows(NamedTuple):
  """Where the windows of a batch stand; what is in them is made from it.

  Attributes:
    question_ids: int32 ragged [batch, question tokens].
    context: `Tokens` of the passages.
    columns: dict of example_index, doc_span_index, context_start,
      context_length and first_context_position, see `SlidingWindows.call`.
  """

  question_ids: tf.RaggedTensor
  context: Tokens
  columns: dict[str, tf.Tensor]

  @property
  def lengths(self):
    """WordPieces of each window, question and specials included: [windows]."""
    columns = self.columns
    return columns["first_context_position"] + columns["context_length"] + 1


@keras.saving.register_keras_serializable(package="bert_span")
class SlidingWindows(keras.layers.Layer):
  """Makes the windows of a batch of tokenized questions and passages.

  A passage without a single token has no window, as in run_squad.

  Args:
    options: `WindowOptions`.
    cls_id: id of [CLS].
    sep_id: id of [SEP].
    pad_to_max: pad every batch to max_seq_length, and not just to its longest
      window.

  Source: google-research/bert, run_squad.py, convert_examples_to_features.
  """

  def __init__(self, options, cls_id, sep_id, pad_to_max=False, **kwargs):
    super().__init__(**kwargs)
    self.built = True  # nothing to build
    self.options = options
    self.cls_id = cls_id
    self.sep_id = sep_id
    self.pad_to_max = pad_to_max

  def call(self, question_ids, context):
    """Cuts a batch of passages.

    Args:
      question_ids: int32 ragged [batch, question tokens].
      context: `Tokens` of the passages.

    Returns:
      Dict of tensors, the windows of all passages one after the other:
        example_index: int32 [windows], row in the batch.
        doc_span_index: int32 [windows], 0, 1, .. within an example.
        context_start: int32 [windows], token of the passage a window begins
          with.
        context_length: int32 [windows], tokens of the passage it holds.
        first_context_position: int32 [windows], where in the window they
          begin.
        input_ids, segment_ids, input_mask: int32 [windows, seq_length].
        token_char_starts, token_char_ends: int32 [windows, seq_length],
          half-open offsets into the passage; -1 outside its tokens.
        is_max_context: bool [windows, seq_length].
    """
    return self.all_tables(self.place(question_ids, context))

  def place(self, question_ids, context):
    """Places the windows of a batch; see `call` for the arguments.

    Returns:
      `PlacedWindows`.
    """
    question_ids = self.shortened(question_ids)
    columns = self.columns(
      tf.cast(question_ids.row_lengths(), tf.int32),
      tf.cast(context.ids.row_lengths(), tf.int32),
    )
    return PlacedWindows(question_ids, context, columns)

  def columns(self, question_lengths, context_lengths):
    """Computes where each window begins and how much of its passage it holds.

    windows of an example = 1 + max(0, ceil((tokens - room) / step)), with
    room = max_seq_length - question tokens - 3, step = min(room, doc_stride).

    Args:
      question_lengths: int32 [batch], WordPieces, at most max_query_length.
      context_lengths: int32 [batch], WordPieces.

    Returns:
      Dict of example_index, doc_span_index, context_start, context_length and
      first_context_position, see `call`.
    """
    room = self.options.max_seq_length - question_lengths - NUM_SPECIAL_TOKENS
    # As run_squad: a stride longer than the window must not skip tokens.
    step = tf.minimum(room, self.options.doc_stride)
    further = tf.maximum(0, context_lengths - room)
    num_windows = 1 + (further + step - 1) // step
    num_windows = tf.where(context_lengths > 0, num_windows, 0)
    example_index = self.window_examples(num_windows)
    first_window = tf.gather(
      tf.cumsum(num_windows, exclusive=True), example_index
    )
    doc_span_index = tf.range(tf.size(example_index)) - first_window
    context_start = doc_span_index * tf.gather(step, example_index)
    left = tf.gather(context_lengths, example_index) - context_start
    return {
      "example_index": example_index,
      "doc_span_index": doc_span_index,
      "context_start": context_start,
      "context_length": tf.minimum(tf.gather(room, example_index), left),
      "first_context_position": tf.gather(question_lengths, example_index) + 2,
    }

  def all_tables(self, placed):
    """Makes all windows of a `PlacedWindows`, the dict of `call`."""
    longest = tf.reduce_max(tf.concat([[0], placed.lengths], 0))  # no window: 0
    return self.tables(
      placed,
      tf.range(tf.size(placed.lengths)),
      self.options.max_seq_length if self.pad_to_max else longest,
    )

  def tables(self, placed, rows, seq_length):
    """Makes some of the windows that were placed.

    Args:
      placed: `PlacedWindows`.
      rows: int32 [windows], which of them.
      seq_length: int32 scalar, WordPieces of the longest of them at least.

    Returns:
      Dict of these windows, see `call`.
    """
    windows = _take(placed.columns, rows)
    positions = tf.range(seq_length, dtype=tf.int32)[tf.newaxis]
    in_context, token = _context_tokens(windows, placed.context, positions)
    lengths = tf.gather(placed.lengths, rows)[:, tf.newaxis]
    input_mask = positions < lengths  # [windows, seq_length]
    segment = positions >= windows["first_context_position"][:, tf.newaxis]
    outside = tf.constant(-1)
    return {
      **windows,
      "input_ids": self._input_ids(
        windows, placed, positions, in_context, token
      ),
      "segment_ids": tf.cast(segment & input_mask, tf.int32),
      "input_mask": tf.cast(input_mask, tf.int32),
      "token_char_starts": tf.where(
        in_context, tf.gather(placed.context.char_starts.values, token), outside
      ),
      "token_char_ends": tf.where(
        in_context, tf.gather(placed.context.char_ends.values, token), outside
      ),
      "is_max_context": in_context
      & _shows_best(placed.columns, rows, positions, self.context_score),
    }

  def context_score(self, least, length):
    """How much of its surroundings a window shows of a token.

    Args:
      least: int32, the fewer of the window's tokens left and right of it;
        negative where there is no token.
      length: int32 of a shape to broadcast, tokens of the passage in the
        window.

    Returns:
      float64 of the shape of `least`.
    """
    # As run_squad: in float64, or ties would fall otherwise.
    return tf.cast(least, tf.float64) + 0.01 * tf.cast(length, tf.float64)

  def shortened(self, question_ids):
    """What is kept of each question.

    Args:
      question_ids: int32 ragged [batch, question tokens].

    Returns:
      int32 ragged [batch, at most max_query_length].
    """
    return question_ids[:, : self.options.max_query_length]

  def window_examples(self, num_windows):
    """Which example each window belongs to.

    Args:
      num_windows: int32 [batch], windows of each example.

    Returns:
      int32 [windows], ascending.
    """
    return tf.repeat(tf.range(tf.size(num_windows)), num_windows)

  def get_config(self):
    """Arguments that rebuild the layer."""
    return {
      **super().get_config(),
      "options": dataclasses.asdict(self.options),
      "cls_id": self.cls_id,
      "sep_id": self.sep_id,
      "pad_to_max": self.pad_to_max,
    }

  @classmethod
  def from_config(cls, config):
    """The layer of a `get_config`."""
    return cls(**{**config, "options": WindowOptions(**config["options"])})

  def _input_ids(self, windows, placed, positions, in_context, token):
    """[CLS] question [SEP] window [SEP] [PAD] ..: [windows, seq_length]."""
    first = windows["first_context_position"][:, tf.newaxis]
    last_sep = first + windows["context_length"][:, tf.newaxis]
    question_start = tf.gather(
      tf.cast(placed.question_ids.row_starts(), tf.int32),
      windows["example_index"],
    )
    in_question = (positions > 0) & (positions < first - 1)
    question = question_start[:, tf.newaxis] + positions - 1
    # One more than there is, for a batch of empty questions.
    values = tf.concat([placed.question_ids.values, [0]], 0)
    question = tf.gather(values, tf.where(in_question, question, 0))
    ids = tf.where(in_context, tf.gather(placed.context.ids.values, token), 0)
    ids = tf.where(in_question, question, ids)
    is_sep = (positions == first - 1) | (positions == last_sep)
    ids = tf.where(is_sep, self.sep_id, ids)
    return tf.where(positions == 0, self.cls_id, ids)


def _context_tokens(windows, context: Tokens, positions):
  """Which positions hold the passage, and which of all tokens stands there.

  Returns:
    in_context: bool [windows, seq_length].
    token: int32 [windows, seq_length], index into the flat tokens of all
      passages; 0 where in_context is False.
  """
  offset = positions - windows["first_context_position"][:, tf.newaxis]
  in_context = (offset >= 0) & (
    offset < windows["context_length"][:, tf.newaxis]
  )
  passage_start = tf.gather(
    tf.cast(context.ids.row_starts(), tf.int32), windows["example_index"]
  )
  start = (passage_start + windows["context_start"])[:, tf.newaxis]
  return in_context, tf.where(in_context, start + offset, 0)


def _shows_best(columns, rows, positions, score_of):
  """Whether a window shows the passage's token at a position best of all.

  score = min(tokens to its left, to its right) + 0.01 * window length; the
  first window wins a tie. From one window to the next a token has fewer tokens
  to its left and more to its right: its score rises to the best window and
  falls after it, so that comparing neighbours is enough. `score_of` is
  `SlidingWindows.context_score`.

  Args:
    columns: of `PlacedWindows`, for the neighbours' sake all of them.
    rows: int32 [windows], those that are asked for.
    positions: int32 [1, seq_length].

  Returns:
    bool [windows, seq_length], without meaning outside the passage.
  """
  own, before, after = (
    _take({n: move(x)[:, tf.newaxis] for n, x in columns.items()}, rows)
    for move in (tf.identity, _previous, _next)
  )
  left = positions - own["first_context_position"]

  def score_and_presence(other):
    """Of each token in the window before or after; if it stands there."""
    other_left = left + own["context_start"] - other["context_start"]
    least = tf.minimum(other_left, other["context_length"] - other_left - 1)
    return score_of(least, other["context_length"]), least >= 0

  score, _ = score_and_presence(own)
  score_before, is_before = score_and_presence(before)
  score_after, is_after = score_and_presence(after)
  is_before &= own["doc_span_index"] > 0
  is_after &= after["doc_span_index"] > 0
  return ~(
    (is_before & (score_before >= score)) | (is_after & (score_after > score))
  )


def _take(columns, rows):
  return {name: tf.gather(values, rows) for name, values in columns.items()}


def _previous(values):
  """What stands in the row before, 0 before the first: [windows]."""
  return tf.concat([[0], values], 0)[:-1]


def _next(values):
  """What stands in the row after, 0 after the last: [windows]."""
  return tf.concat([values, [0]], 0)[1:]
