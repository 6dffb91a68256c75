"""Cuts question and passage into the overlapping windows that BERT reads.

A passage that is too long for the encoder is read in windows, each with the
question. With max_seq_length 10, doc_stride 2 and a question of two tokens, a
window has room for 10 - 2 - 3 = 5 tokens of the passage t0 .. t7:

    [CLS] q0 q1 [SEP] t0 t1 t2 t3 t4 [SEP]      window 0
    [CLS] q0 q1 [SEP] t2 t3 t4 t5 t6 [SEP]      window 1
    [CLS] q0 q1 [SEP] t4 t5 t6 t7 [SEP]         window 2

A token such as t4 is in several windows. The window with the most context on
both sides is its max-context window, and an answer may start at t4 only there:
min(left, right) is min(4, 0) = 0 in window 0, min(2, 2) = 2 in window 1 and
min(0, 3) = 0 in window 2, so it is window 1.
"""

import dataclasses
from typing import NamedTuple

import keras
import tensorflow as tf

from bert_span.text.options import NUM_SPECIAL_TOKENS, WindowOptions
from bert_span.text.tokenizer import Tokens

# WordPieces. A dynamic length of windows is a multiple of this: each new length
# costs a memory plan, and kernels prefer few shapes. It is the next multiple
# above the longest window: MobileBERT reads the neighbours of a token, so a
# [PAD] must follow the last [SEP] whatever the other windows are. Only windows
# of max_seq_length have none.
LENGTH_MULTIPLE = 32


class PlacedWindows(NamedTuple):
  """The tokens that each window of a batch contains."""

  question_ids: tf.RaggedTensor  # int32 [batch, question tokens]
  # bool [batch], whether max_query_length cut a question that is read.
  is_cut: tf.Tensor
  context: Tokens  # of the passages
  columns: dict[str, tf.Tensor]  # of `SlidingWindows.call`, each [windows]

  @property
  def lengths(self):
    """int32 [windows], WordPieces, with the question and special tokens."""
    columns = self.columns
    return columns["first_context_position"] + columns["context_length"] + 1


@keras.saving.register_keras_serializable(package="bert_span")
class SlidingWindows(keras.layers.Layer):
  """Cuts tokenized passages into windows ("InputFeatures" in run_squad).

  A passage without a token has no window, as in run_squad.

  Args:
    options: `WindowOptions`.
    cls_id: id of [CLS].
    sep_id: id of [SEP].
    pad_to_max: pad every batch to max_seq_length instead of its longest window.
    pad_id: id of [PAD].
    num_separators: number of [SEP] after the question; RoBERTa has 2.

  Source: google-research/bert, run_squad.py, convert_examples_to_features.
  """

  def __init__(
    self,
    options,
    cls_id,
    sep_id,
    pad_to_max=False,
    pad_id=0,
    num_separators=1,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.built = True  # nothing to build
    self.options = options
    self.cls_id = cls_id
    self.sep_id = sep_id
    self.pad_to_max = pad_to_max
    self.pad_id = pad_id
    self.num_separators = num_separators
    self._num_special = NUM_SPECIAL_TOKENS - 1 + num_separators
    least = options.max_query_length + self._num_special + 1
    if options.max_seq_length < least:
      raise ValueError(
        f"max_seq_length must be at least {least} with max_query_length "
        f"{options.max_query_length} and {self._num_special} special tokens. "
        f"Received: {options.max_seq_length}. Change one of them."
      )

  def call(self, question_ids, context):
    """Returns the windows of a batch.

    Args:
      question_ids: int32 ragged [batch, question tokens].
      context: `Tokens` of the passages.

    Returns:
      Dict of tensors, the windows of one passage after those of another:
        example_index: int32 [windows], row in the batch.
        doc_span_index: int32 [windows], 0, 1, .. within an example.
        context_start: int32 [windows], first token of the passage.
        context_length: int32 [windows], tokens of the passage.
        first_context_position: int32 [windows], their first position.
        token_ids, segment_ids, padding_mask: int32 [windows, seq_length].
        token_char_starts, token_char_ends: int32 [windows, seq_length],
          half-open offsets into the passage; -1 for other tokens.
        is_max_context: bool [windows, seq_length].
        question_truncated: bool [windows], whether max_query_length cut the
          question.
    """
    return self.all_tables(self.place(question_ids, context))

  def place(self, question_ids, context):
    """Returns the `PlacedWindows` of a batch; arguments as in `call`."""
    # windows of an example = 1 + max(0, ceil((tokens - room) / step)), with
    # room = max_seq_length - question tokens - special tokens (3, RoBERTa 4)
    # and step = min(room, doc_stride).
    is_cut = question_ids.row_lengths() > self.options.max_query_length
    is_cut &= context.ids.row_lengths() > 0
    question_ids = question_ids[:, : self.options.max_query_length]
    question_lengths = tf.cast(question_ids.row_lengths(), tf.int32)
    context_lengths = tf.cast(context.ids.row_lengths(), tf.int32)
    room = self.options.max_seq_length - question_lengths - self._num_special
    # As run_squad: a stride longer than the window must not skip tokens.
    step = tf.minimum(room, self.options.doc_stride)
    further = tf.maximum(0, context_lengths - room)
    num_windows = 1 + (further + step - 1) // step
    num_windows = tf.where(context_lengths > 0, num_windows, 0)
    before = tf.cumsum(num_windows, exclusive=True)
    example = tf.repeat(tf.range(tf.size(num_windows)), num_windows)
    doc_span_index = tf.range(tf.size(example)) - tf.gather(before, example)
    context_start = doc_span_index * tf.gather(step, example)
    left = tf.gather(context_lengths, example) - context_start
    columns = {
      "example_index": example,
      "doc_span_index": doc_span_index,
      "context_start": context_start,
      "context_length": tf.minimum(tf.gather(room, example), left),
      "first_context_position": (
        tf.gather(question_lengths, example) + 1 + self.num_separators
      ),
    }
    return PlacedWindows(question_ids, is_cut, context, columns)

  def all_tables(self, placed):
    """Returns the dict of `call` for a `PlacedWindows`."""
    seq_length = self.options.max_seq_length
    if not self.pad_to_max:
      # 0 without a window
      seq_length = tf.reduce_max(tf.concat([[0], placed.lengths], 0))
    return self.tables(placed, tf.range(tf.size(placed.lengths)), seq_length)

  def tables(self, placed, rows, seq_length):
    """Returns the dict of `call` for some rows, none longer than seq_length."""
    windows = {n: tf.gather(x, rows) for n, x in placed.columns.items()}
    # Columns are [windows, 1], so that all below is [windows, seq_length].
    column = {name: values[:, tf.newaxis] for name, values in windows.items()}
    positions = tf.range(seq_length, dtype=tf.int32)[tf.newaxis]
    first = column["first_context_position"]
    last_sep = first + column["context_length"]
    in_context = (positions >= first) & (positions < last_sep)
    offset = positions - first + column["context_start"]
    token = _in_rows(placed.context.ids, column, offset)
    token = tf.where(in_context, token, 0)

    def in_passage(tokens, outside):
      return tf.where(in_context, tf.gather(tokens.values, token), outside)

    # [CLS] question [SEP] window [SEP] [PAD] ..
    ids = in_passage(placed.context.ids, self.pad_id)
    first_sep = first - self.num_separators
    in_question = (positions > 0) & (positions < first_sep)
    question = _in_rows(placed.question_ids, column, positions - 1)
    # Another value is needed if all questions are empty.
    values = tf.concat([placed.question_ids.values, [0]], 0)
    question = tf.gather(values, tf.where(in_question, question, 0))
    ids = tf.where(in_question, question, ids)
    is_sep = (positions >= first_sep) & (positions < first)
    ids = tf.where(is_sep | (positions == last_sep), self.sep_id, ids)
    padding_mask = positions <= last_sep
    segment = (positions >= first) & padding_mask
    is_max_context = _is_max_context(placed.columns, rows, positions)
    return {
      **windows,
      "token_ids": tf.where(positions == 0, self.cls_id, ids),
      "segment_ids": tf.cast(segment, tf.int32),
      "padding_mask": tf.cast(padding_mask, tf.int32),
      "token_char_starts": in_passage(placed.context.char_starts, -1),
      "token_char_ends": in_passage(placed.context.char_ends, -1),
      "is_max_context": in_context & is_max_context,
      "question_truncated": tf.gather(placed.is_cut, windows["example_index"]),
    }

  def get_config(self):
    names = ("cls_id", "sep_id", "pad_to_max", "pad_id", "num_separators")
    config = {name: getattr(self, name) for name in names}
    config["options"] = dataclasses.asdict(self.options)
    return super().get_config() | config

  @classmethod
  def from_config(cls, config):
    return cls(**{**config, "options": WindowOptions(**config["options"])})


def _is_max_context(columns, rows, positions):
  """Finds tokens' max-context windows, bool [windows, seq_length].

  score = min(tokens to its left, to its right) + 0.01 * window length; the
  first window wins a tie. A token's score rises from window to window up to
  the best one and then falls, so it is compared with both neighbours only.
  """
  # A row is added before the first window and after the last.
  padded = {n: tf.concat([[0], x, [0]], 0) for n, x in columns.items()}
  row = rows[:, tf.newaxis]
  before, this, after = (
    {n: tf.gather(x, row + i) for n, x in padded.items()} for i in range(3)
  )
  left = positions - this["first_context_position"]

  def score_in(window):  # (score, whether it contains the token)
    left_there = left + this["context_start"] - window["context_start"]
    right_there = window["context_length"] - left_there - 1
    least = tf.minimum(left_there, right_there)
    # As run_squad: ties are decided by rounding in float64.
    more = 0.01 * tf.cast(window["context_length"], tf.float64)
    return tf.cast(least, tf.float64) + more, least >= 0

  score, _ = score_in(this)
  score_before, is_before = score_in(before)
  score_after, is_after = score_in(after)
  is_before &= (this["doc_span_index"] > 0) & (score_before >= score)
  is_after &= (after["doc_span_index"] > 0) & (score_after > score)
  return ~(is_before | is_after)


def _in_rows(tokens, column, offset):
  """Returns indices in `tokens.values` of each window's tokens at an offset."""
  starts = tf.cast(tokens.row_starts(), tf.int32)
  return tf.gather(starts, column["example_index"]) + offset
