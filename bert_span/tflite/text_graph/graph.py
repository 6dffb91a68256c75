"""Strings in, byte spans out: a span model as a graph that TFLite can hold.

The steps are those of `AnswerGraph`, for one question. Windows and candidates
are the very same code; tokens, context scores and n-best lists have forms of
their own, since TFLite has no Unicode, no float64 and no string operations.
"""

import tensorflow as tf

from bert_span.answers.decoding import candidates as candidates_lib
from bert_span.answers.decoding import n_best
from bert_span.answers.decoding.answer_columns import answer_columns
from bert_span.answers.decoding.joint_probability import span_log_sums
from bert_span.answers.window_logits import NO_LOGIT
from bert_span.text.windows import LENGTH_MULTIPLE
from bert_span.tflite.text_graph import byte_entries
from bert_span.tflite.text_graph.byte_tokenizer import ByteTokenizer
from bert_span.tflite.text_graph.ranked_windows import RankedWindows

_INPUTS = ("input_ids", "input_mask", "segment_ids")


class TextGraph:
  """Answers one question about one passage.

  It gives, with n entries, n_best_size, or one more with
  version_2_with_negative:
    byte_start, byte_end: int32 [1], bytes of the context, half-open; 0, 0 for
      no answer.
    score, probability, null_odds: float32 [1], see `SpanDecoder`.
    is_answerable: bool [1], whether the answer is a span.
    n_best_count: int32 [1], entries of the n-best list that are no padding.
    n_best_byte_start, n_best_byte_end: int32 [1, n].
    n_best_start_logit, n_best_end_logit, n_best_score, n_best_probability:
      float32 [1, n].
  As in `AnswerGraph` a question without a single WordPiece gets no answer.
  Scores are sums in float32, where `SpanDecoder` takes float64.

  Args:
    model: a function of token_ids, padding_mask and segment_ids to a dict of
      start_logits and end_logits, such as an `InferenceModel`.
    preprocessor: its `SpanPreprocessor`.
    decoder_options: `DecoderOptions`.
    dynamic_length: pad windows no further than the longest one of a question
      needs, and not to max_seq_length.
  """

  def __init__(
    self, model, preprocessor, decoder_options, dynamic_length=False
  ):
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
    """Answers the question.

    Args:
      question, context: string [1], UTF-8.

    Returns:
      Dict of tensors, see the class.
    """
    question_ids = self._tokenizer(question).ids
    windows = self._windows(question_ids, self._tokenizer(context))
    # Without a question nothing is asked.
    asked = tf.cast(question_ids.row_splits[1] > 0, tf.int32)
    num_windows = asked * tf.size(windows["example_index"])
    windows = {name: _one_more(values) for name, values in windows.items()}
    is_window = tf.range(tf.size(windows["example_index"])) < num_windows
    windows["is_max_context"] &= is_window[:, tf.newaxis]
    logits = self._logits(windows, num_windows)
    context_bytes = self._tokenizer.bytes_of(context)
    return self._answer(windows, num_windows, logits, context_bytes)

  def _logits(self, windows, num_windows):
    """Start and end logits, float32 [rows, max_seq_length].

    One window at a time, which bounds the memory; NO_LOGIT on padding.
    """
    length = self._length(windows)
    rows = tf.range(tf.size(windows["example_index"]))

    def run_window(index, *logits):
      inputs = [tf.gather(windows[name], index[tf.newaxis]) for name in _INPUTS]
      found = self._run(inputs, length)
      is_real = tf.cast(inputs[1], tf.bool) & (rows == index)[:, tf.newaxis]
      return index + 1, *(
        tf.where(is_real, row, values)
        for row, values in zip(found, logits, strict=True)
      )

    nothing = tf.fill(tf.shape(windows["input_ids"]), NO_LOGIT)
    _, *logits = tf.while_loop(
      lambda index, *_: index < num_windows,
      run_window,
      [tf.constant(0), nothing, nothing],
    )
    return logits

  def _length(self, windows):
    """WordPieces that the encoder reads of each window."""
    if not self._dynamic_length:
      return self._max_seq_length
    longest = tf.reduce_max(tf.reduce_sum(windows["input_mask"], axis=1))
    length = (
      (longest + LENGTH_MULTIPLE - 1) // LENGTH_MULTIPLE * LENGTH_MULTIPLE
    )
    return tf.minimum(length, self._max_seq_length)

  def _run(self, inputs, length):
    """Both logits of one window, float32 [1, max_seq_length]."""
    ids, mask, segments = (values[:, :length] for values in inputs)
    outputs = self._model(
      {"token_ids": ids, "padding_mask": mask, "segment_ids": segments}
    )
    missing = [[0, 0], [0, self._max_seq_length - length]]
    return [
      tf.pad(outputs[name], missing) for name in ("start_logits", "end_logits")
    ]

  def _answer(self, windows, num_windows, logits, context_bytes):
    """The outputs; see the class."""
    options = self._options
    scores = [
      candidates_lib.position_scores(
        values, windows["input_mask"], options.span_score, tf.float32
      )
      for values in logits
    ]
    found = candidates_lib.span_candidates(windows, *logits, *scores, options)
    spans = byte_entries.distinct_entries(
      found, context_bytes, options.n_best_size
    )
    null = byte_entries.null_entry(
      num_windows, n_best.null_of_windows(*logits, *scores)
    )
    log_sums = None
    if options.temperature is not None:
      log_sums = span_log_sums(
        windows,
        *logits,
        options.temperature,
        options.max_answer_length,
        tf.float32,
      )
    columns = answer_columns(
      spans, null, windows["example_index"], log_sums, options
    )
    # What they call characters are bytes here.
    return {
      name.replace("char_", "byte_"): values for name, values in columns.items()
    }


def _one_more(values):
  """A row of zeros behind the others: TFLite's ops want one at least."""
  padding = [[0, 1], *[[0, 0]] * (values.shape.rank - 1)]
  return tf.pad(values, padding)
