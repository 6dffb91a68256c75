"""Strings in, byte spans out: a span model as a graph for TFLite.

The steps are those of `AnswerGraph`, for one question, with the same windows
and candidates. Tokens, context scores and n-best lists are computed in another
way, since TFLite has no Unicode, no float64 and no string operations.
"""

import numpy as np
import tensorflow as tf

from bert_span.answers.decoding.n_best import Candidates, Entries, NullEntry
from bert_span.answers.decoding.span_decoder import answer_columns, read_windows
from bert_span.answers.window_logits import NO_LOGIT
from bert_span.text.tokenizer import one_row
from bert_span.text.windows import LENGTH_MULTIPLE, SlidingWindows
from bert_span.tflite.byte_tokenizer import ByteTokenizer


class TextGraph:
  """Answers one question about one passage.

  The outputs, with n = n_best_size, plus 1 with version_2_with_negative:
    byte_start, byte_end: int32 [1], bytes of the context, half-open; 0, 0 for
      no answer.
    score, probability, null_odds: float32 [1], see `SpanDecoder`.
    is_answerable: bool [1], whether the answer is a span.
    n_best_count: int32 [1], entries of the n-best list without padding.
    n_best_byte_start, n_best_byte_end: int32 [1, n].
    n_best_start_logit, n_best_end_logit, n_best_score, n_best_probability:
      float32 [1, n].
  As in `AnswerGraph` a question without a WordPiece gets no answer. Scores are
  sums in float32, those of `SpanDecoder` in float64.

  `model` is an `InferenceModel` with a span head; dynamic_length pads windows
  to the longest one of a question instead of max_seq_length.
  """

  def __init__(self, model, preprocessor, decoder_options, dynamic_length):
    tokenizer, options = preprocessor.tokenizer, preprocessor.options
    self._model = model
    self._tokenizer = ByteTokenizer(tokenizer)
    self._windows = RankedWindows(
      options, tokenizer.cls_id, tokenizer.sep_id, pad_to_max=True
    )
    self._max_seq_length = options.max_seq_length
    self._options = decoder_options
    self._dynamic_length = dynamic_length

  def __call__(self, question, context):
    """Returns the outputs as a dict; question, context: string [1], UTF-8."""
    question_ids = self._tokenizer(question).ids
    windows = self._windows(question_ids, self._tokenizer(context))
    has_question = tf.cast(question_ids.row_splits[1] > 0, tf.int32)
    num_windows = has_question * tf.size(windows["example_index"])
    # One row of padding, since some ops of TFLite need at least one row.
    windows = {
      name: tf.pad(values, [[0, 1], *[[0, 0]] * (values.shape.rank - 1)])
      for name, values in windows.items()
    }
    is_window = tf.range(tf.size(windows["example_index"])) < num_windows
    windows["is_max_context"] &= is_window[:, tf.newaxis]
    logits = self._logits(windows, num_windows)
    options, examples = self._options, windows["example_index"]
    found, of_windows, log_sums = read_windows(
      windows, *logits, options, dtype=tf.float32
    )
    context_bytes = self._tokenizer.bytes_of(context)
    spans = distinct_entries(found, context_bytes, options.n_best_size)
    null = null_entry(num_windows, of_windows)
    columns = answer_columns(spans, null, examples, log_sums, options)
    # Offsets are in bytes here.
    return {
      name.replace("char_", "byte_"): values for name, values in columns.items()
    }

  def _logits(self, windows, num_windows):
    """Start and end logits, float32 [rows, max_seq_length].

    Runs one window at a time, which bounds the memory. NO_LOGIT at padding.
    """
    length = self._max_seq_length
    if self._dynamic_length:
      longest = tf.reduce_max(tf.reduce_sum(windows["input_mask"], axis=1))
      multiple = (longest + LENGTH_MULTIPLE - 1) // LENGTH_MULTIPLE
      length = tf.minimum(multiple * LENGTH_MULTIPLE, self._max_seq_length)
    missing = [[0, 0], [0, self._max_seq_length - length]]
    rows = tf.range(tf.size(windows["example_index"]))
    is_token = tf.cast(windows["input_mask"], tf.bool)

    def run_window(index, *logits):
      ids, mask, segments = (
        tf.gather(windows[name], index[tf.newaxis])[:, :length]
        for name in ("input_ids", "input_mask", "segment_ids")
      )
      outputs = self._model(
        {"token_ids": ids, "padding_mask": mask, "segment_ids": segments}
      )
      found = (outputs["start_logits"], outputs["end_logits"])
      is_real = is_token & (rows == index)[:, tf.newaxis]
      return index + 1, *(
        tf.where(is_real, tf.pad(row, missing), values)
        for row, values in zip(found, logits, strict=True)
      )

    nothing = tf.fill(tf.shape(windows["input_ids"]), NO_LOGIT)
    _, *logits = tf.while_loop(
      lambda index, *_: index < num_windows,
      run_window,
      [tf.constant(0), nothing, nothing],
    )
    return logits


class RankedWindows(SlidingWindows):
  """`SlidingWindows` of one passage, with ranks in place of context scores.

  TFLite has no float64, in which context scores are compared. There are few
  scores, one for each number of tokens beside a token and each length of a
  window, so they are ranked here, in float64:

      least      0     0     1     1
      length     1     2     1     2
      score   0.01  0.02  1.01  1.02
      rank       0     1     2     3
  """

  def __init__(self, options, *args, **kwargs):
    super().__init__(options, *args, **kwargs)
    lengths = np.arange(options.max_seq_length + 1, dtype=np.int32)
    self._most = options.max_seq_length // 2
    least = np.arange(self._most + 1, dtype=np.int32)[:, np.newaxis]
    scores = super().context_score(least, lengths[np.newaxis]).numpy()
    _, ranks = np.unique(scores.ravel(), return_inverse=True)
    self._ranks = ranks.astype(np.int32)  # [most + 1, lengths], flat

  def context_score(self, least, length):
    """Returns the int32 rank of the score."""
    least = tf.clip_by_value(least, 0, self._most)
    place = least * (self.options.max_seq_length + 1) + length
    return tf.gather(tf.constant(self._ranks), place)

  def shortened(self, question_ids):
    return one_row(question_ids.values[: self.options.max_query_length])

  def window_examples(self, num_windows):
    return tf.zeros(num_windows[:1], tf.int32)  # all of the only example


def distinct_entries(candidates, context_bytes, n_best_size):
  """Returns the best candidates that differ in text.

  From the `Candidates` of one question, with offsets in context_bytes, int32
  [bytes], to `Entries` [1, n_best_size] without null entries.
  """
  num_candidates = tf.size(candidates.char_start)
  # One more candidate, since TFLite cannot sort an empty tensor.
  padded = Candidates(*(tf.pad(column, [[0, 1]]) for column in candidates))
  is_real = tf.range(num_candidates + 1) < num_candidates
  score = tf.where(is_real, padded.score, tf.float32.min)
  # Of equal scores the lower row comes first, as in a stable sort.
  order = tf.math.top_k(score, k=num_candidates + 1).indices
  ranked = Candidates(*(tf.gather(column, order) for column in padded))
  starts, ends = ranked.char_start, ranked.char_end
  context_bytes = tf.pad(context_bytes, [[0, 1]])
  # As many as in the longest candidate; shorter ones are padded with -1.
  offsets = tf.range(tf.reduce_max(ends - starts) + 1)[tf.newaxis]

  def texts(rows):
    """int32 [rows, longest]."""
    place = tf.gather(starts, rows)[:, tf.newaxis] + offsets
    is_inside = place < tf.gather(ends, rows)[:, tf.newaxis]
    found = tf.gather(context_bytes, tf.where(is_inside, place, 0))
    return tf.where(is_inside, found, -1)

  def has_room(row, count, rows):
    return (row < num_candidates) & (count < n_best_size)

  def add(row, count, rows):
    """Adds a candidate to the first `count` of `rows` if its text is new."""
    equal = tf.reduce_all(tf.equal(texts(rows), texts(row[tf.newaxis])), axis=1)
    entries = tf.range(n_best_size)
    is_known = tf.reduce_any(equal & (entries < count))
    rows = tf.where((entries == count) & ~is_known, row, rows)
    return row + 1, tf.where(is_known, count, count + 1), rows

  start = (tf.constant(0), tf.constant(0), tf.zeros([n_best_size], tf.int32))
  _, count, rows = tf.while_loop(has_room, add, start)
  is_entry = tf.range(n_best_size) < count
  columns = [tf.gather(column, rows) for column in ranked[2:]]
  columns = [tf.where(is_entry, x, tf.zeros_like(x)) for x in columns]
  return Entries(*(x[tf.newaxis] for x in (*columns, count)))


def null_entry(num_windows, of_windows):
  """Returns the `NullEntry` [1] of the window with the lowest score.

  Rows of `of_windows` from num_windows on are padding. Zeros for no window.
  """
  scores = of_windows.score
  is_window = tf.range(tf.size(scores)) < num_windows
  # tf.argmin returns the first of equal ones.
  scores = tf.where(is_window, scores, scores.dtype.max)
  lowest = tf.argmin(scores, output_type=tf.int32)[tf.newaxis]
  return NullEntry(
    *(tf.where(num_windows > 0, tf.gather(x, lowest), 0.0) for x in of_windows)
  )
