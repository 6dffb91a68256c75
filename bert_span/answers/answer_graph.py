"""The TensorFlow function that answers: strings in, answers out."""

import tensorflow as tf

from bert_span.answers.window_logits import WINDOW_SPECS
from bert_span.answers.window_steps import (
  WindowSteps,
  device_steps,
  pad_logits,
)
from bert_span.modeling.inference_encoder import InferenceModel

_STRINGS = tf.TensorSpec([None], tf.string)
_ROWS = tf.TensorSpec([None, None], tf.int32)  # [windows, seq_length]
_COUNT = tf.TensorSpec([], tf.int32)
# The columns of the windows that are returned with their logits.
_WINDOW_COLUMNS = (
  *WINDOW_SPECS,
  "doc_span_index",
  "context_length",
  "input_ids",
)


class AnswerGraph:
  """Text, windows, encoder and decoder of a trained model as one function.

  `SpanExtractor` and all programs call it; the signatures of a SavedModel are
  its functions.

  Args:
    model: `SpanModel`; answers follow its weights as training changes them.
    preprocessor: `SpanPreprocessor`. Where it pads to max_seq_length, the
      encoder also runs on padding, as the original.
    head: `AnswerHead` of the model.
    options: its decoding options.
    steps: `StepOptions`.
    on_windows: see `WindowSteps`.

  Attributes:
    model: `InferenceModel`, which holds all variables.
    steps: `StepOptions` for this device.
    encode: tf.function of input_ids, input_mask and segment_ids, int32
      [windows, seq_length], to a tuple of the head's logits, float32 [windows,
      seq_length, ..].
  """

  def __init__(
    self, model, preprocessor, head, options, steps=None, on_windows=None
  ):
    self.model = InferenceModel(model)
    self.steps = device_steps(steps)
    self.encode = tf.function(
      self._encode,
      input_signature=[_ROWS] * 3,
      autograph=False,
      jit_compile=self.steps.jit_compile or None,
    )
    self._preprocessor = preprocessor
    self._head = head
    self._decoder = head.decoder_of(options)
    self._read_in_steps = WindowSteps(
      self.encode,
      list(head.logits.values()),
      preprocessor.sliding_windows,
      self.steps,
      on_windows,
    )
    # Traced when they are first called, once for batches of any size.
    signature = {"input_signature": [_STRINGS, _STRINGS, _COUNT]}
    self.answer = tf.function(self._answer, autograph=False, **signature)
    self.window_logits = tf.function(
      self._window_logits, autograph=False, **signature
    )

  def columns(self, questions, contexts, max_windows, answer_blank=True):
    """All columns of the head's decoder; call this within a tf.function.

    Args:
      questions, contexts: string [batch], any bytes; those that are not UTF-8
        count as U+FFFD. InvalidArgumentError if they differ in number.
      max_windows: int32 scalar, windows that are read at once at most.
      answer_blank: also answer a question without a single WordPiece, as
        run_squad does.
    """
    placed = self._place(questions, contexts)
    # [CLS] question [SEP] passage: without a question the passage begins at 2.
    # An example whose windows are not read gets no answer.
    is_read = answer_blank | (placed.columns["first_context_position"] > 2)
    rows = tf.cast(tf.where(is_read)[:, 0], tf.int32)
    parts = self._read_in_steps(placed, rows, max_windows, self._decoder.read)
    return self._decoder.answers(contexts, parts)

  def _answer(self, questions, contexts, max_windows):
    """The columns that predictions are made of."""
    columns = self.columns(questions, contexts, max_windows)
    # The graph drops what is not asked for, such as n-best texts.
    return {name: columns[name] for name in self._head.prediction_columns}

  def _window_logits(self, questions, contexts, max_windows):
    """The windows and their logits, two dicts."""
    placed = self._place(questions, contexts)
    rows = tf.range(tf.size(placed.lengths))
    longest = tf.reduce_max(tf.concat([[1], placed.lengths], 0))
    seq_length = self._read_in_steps.padded(longest)

    def keep(windows, *logits):
      missing = seq_length - tf.shape(windows["input_mask"])[1]
      kept = zip(self._head.logits, logits, strict=True)
      return {
        "logits": {
          "window": tf.range(tf.size(windows["example_index"])),
          **{name: pad_logits(x, missing) for name, x in kept},
        }
      }

    logits = self._read_in_steps(placed, rows, max_windows, keep)["logits"]
    del logits["window"]
    windows = self._preprocessor.sliding_windows.tables(
      placed, rows, seq_length
    )
    return {name: windows[name] for name in _WINDOW_COLUMNS}, logits

  def _place(self, questions, contexts):
    same_size = tf.debugging.assert_equal(
      tf.size(questions),
      tf.size(contexts),
      "question and context must have the same batch size, one passage for "
      "each question",
    )
    # Else a session may fail at a gather before it checks this.
    with tf.control_dependencies([same_size]):
      questions = tf.identity(questions)
    return self._preprocessor.place(questions, contexts)

  def _encode(self, input_ids, input_mask, segment_ids):
    logits = self.model(
      {
        "token_ids": input_ids,
        "segment_ids": segment_ids,
        "padding_mask": input_mask,
      }
    )
    return tuple(logits[name] for name in self._head.logits)
