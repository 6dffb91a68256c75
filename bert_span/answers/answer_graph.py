"""The TensorFlow function that answers: strings in, answers out.

A passage of a million characters has over a thousand windows. All of them at
once would need gigabytes. So a few windows at a time are made, scored and read
by the decoder, and only the decoder's tables stay in memory.
"""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from bert_span.answers.decoding.answer_decoder import NO_LOGIT, WINDOW_SPECS
from bert_span.answers.decoding.options import StepOptions
from bert_span.data.window_batches import example_arrays
from bert_span.modeling.inference_encoder import InferenceModel
from bert_span.text.windows import LENGTH_MULTIPLE, SlidingWindows

_ROWS = tf.TensorSpec([None, None], tf.int32)  # [windows, seq_length]
_STRINGS = tf.TensorSpec([None], tf.string)
_INPUTS = [_STRINGS, _STRINGS, tf.TensorSpec([], tf.int32)]
# The columns of windows that are returned with the logits.
_KEPT_COLUMNS = (
  *(*WINDOW_SPECS, "doc_span_index", "context_length", "token_ids"),
  "question_truncated",
)


def device_steps(options=None):
  """Fills in the WordPieces of a step for this device: `StepOptions`."""
  options = options or StepOptions()
  if options.max_wordpieces_per_step:
    return options
  # A GPU is faster with larger steps, a CPU is not.
  wordpieces = 16384 if tf.config.list_physical_devices("GPU") else 1024
  return dataclasses.replace(options, max_wordpieces_per_step=wordpieces)


class AnswerGraph:
  """Text, windows, encoder and decoder of a trained model as one function.

  Answers follow the weights of the `Extractor` as training changes them. The
  tf.function `encode` takes token_ids, padding_mask and segment_ids, int32
  [windows, seq_length], and returns a tuple of the model's logits.
  """

  def __init__(self, extractor, steps=None, on_windows=None):
    self.model = InferenceModel(extractor)
    self.steps = device_steps(steps)
    self.encode = tf.function(
      self._encode,
      input_signature=[_ROWS] * 3,
      autograph=False,
      jit_compile=self.steps.jit_compile or None,
    )
    # Not the extractor itself: TensorFlow would track a Keras model.
    self._preprocessor = extractor.preprocessor
    self._logits = dict(extractor.logits)
    self._predicted = extractor.columns.predicted
    self._decoder = extractor.decoder_of(extractor.decoder_options)
    self._read_in_steps = WindowSteps(
      encode=self.encode,
      logit_shapes=self._logits,
      sliding_windows=self._preprocessor.sliding_windows,
      options=self.steps,
      on_windows=on_windows,
    )

  def columns(self, questions, contexts, max_windows):
    """Returns the decoder's columns and question_truncated, in a tf.function.

    Questions and contexts are string [batch]; invalid UTF-8 counts as U+FFFD.
    max_windows, int32 scalar, is the highest number of windows in a step.
    """
    placed = self._place(questions, contexts)
    rows = tf.range(tf.size(placed.lengths))
    tables = self._read_in_steps(placed, rows, max_windows, self._decoder.read)
    with tf.name_scope("answers"):
      columns = self._decoder.answers(contexts, tables)
    return {**columns, "question_truncated": placed.is_cut}

  def arguments(self, examples, batch_size=None):
    """Returns the arguments of `answer` and `window_logits`.

    `batch_size` is the highest number of windows in a step; None takes that of
    the `StepOptions`.
    """
    if batch_size is None:
      batch_size = self.steps.max_windows_per_step
    if batch_size < 1:
      raise ValueError(f"batch_size must be at least 1. Received: {batch_size}")
    arrays = example_arrays(examples)
    return (
      tf.constant(arrays["question"], tf.string),
      tf.constant(arrays["context"], tf.string),
      tf.constant(batch_size),
    )

  # Traced when it is first called, once for batches of any size.
  @tf.function(input_signature=_INPUTS, autograph=False)
  def answer(self, questions, contexts, max_windows):
    """Returns the columns that predictions are made of."""
    columns = self.columns(questions, contexts, max_windows)
    # The graph drops all other columns, such as n-best texts.
    return {name: columns[name] for name in self._predicted}

  @tf.function(input_signature=_INPUTS, autograph=False)
  def window_logits(self, questions, contexts, max_windows):
    """Returns the windows and their logits, two dicts."""
    placed, steps = self._place(questions, contexts), self._read_in_steps
    rows = tf.range(tf.size(placed.lengths))
    longest = tf.reduce_max(tf.concat([[1], placed.lengths], 0))
    seq_length = steps.padded(longest)
    logits = steps.logits(placed, rows, max_windows, seq_length)
    windows = steps.sliding_windows.tables(placed, rows, seq_length)
    return {name: windows[name] for name in _KEPT_COLUMNS}, logits

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
    with tf.name_scope("text"):
      return self._preprocessor.place_windows(questions, contexts)

  def _encode(self, token_ids, padding_mask, segment_ids):
    inputs = {"token_ids": token_ids, "segment_ids": segment_ids}
    logits = self.model({**inputs, "padding_mask": padding_mask})
    return tuple(logits[name] for name in self._logits)


@dataclasses.dataclass(frozen=True)
class WindowSteps:
  """Reads the windows of a batch step by step.

  Windows are sorted by length, so that each step is padded only as far as its
  windows need. With lengths 9, 40, 12 and steps of 64 WordPieces, the steps are
  (40), padded to 64, and (12, 9), padded to 32. Padding gets the logit
  NO_LOGIT. If `sliding_windows` pads to max_seq_length, padding keeps its
  logits, as in the original.
  """

  encode: Callable
  logit_shapes: dict  # name -> shape after [windows, seq_length]
  sliding_windows: SlidingWindows
  options: StepOptions  # of `device_steps`
  # Called after each step with two counts: windows read so far, all windows. A
  # graph with such a function cannot be exported.
  on_windows: Callable | None = None

  def __call__(self, placed, rows, max_windows, read):
    """Returns the tables of `read` for all windows, see `SpanDecoder.read`.

    rows, int32 [rows], are the windows of `PlacedWindows` to read, at most
    max_windows of them in a step. The column "window" is the row in `placed`.
    """
    lengths = tf.gather(placed.lengths, rows)
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    rows, lengths = tf.gather(rows, order), tf.gather(lengths, order)

    def run_step(step, first, arrays):
      seq_length = self.padded(lengths[first])
      fitting = self.options.max_wordpieces_per_step // seq_length
      end = first + tf.clip_by_value(fitting, 1, max_windows)
      tables = self._read_step(placed, rows[first:end], seq_length, read)
      arrays = tf.nest.map_structure(
        lambda array, values: array.write(step, values), arrays, tables
      )
      if self.on_windows:
        read_so_far = tf.minimum(end, tf.size(rows))
        tf.py_function(self.on_windows, [read_so_far, tf.size(rows)], [])
      return step + 1, end, arrays

    # An empty TensorArray cannot be concatenated: step 0 reads no window.
    no_windows = {
      name: tf.zeros([0] * len(spec.shape), spec.dtype)
      for name, spec in WINDOW_SPECS.items()
    }
    shapes = self.logit_shapes.values()
    no_logits = (tf.zeros([0, 0, *shape]) for shape in shapes)
    start = tf.nest.map_structure(_array_of, read(no_windows, *no_logits))
    *_, arrays = tf.while_loop(
      lambda step, first, arrays: first < tf.size(rows),
      run_step,
      (tf.constant(1), tf.constant(0), start),
      # Memory holds the windows of one step at a time.
      parallel_iterations=1,
      name="windows",
    )
    tables = tf.nest.map_structure(lambda array: array.concat(), arrays)
    for name, table in tables.items():
      order = tf.argsort(table["window"], stable=True)
      tables[name] = {n: tf.gather(x, order) for n, x in table.items()}
    return tables

  def logits(self, placed, rows, max_windows, seq_length):
    """Returns the logits of the windows by name, padded to seq_length."""

    def keep(windows, *logits):
      missing = seq_length - tf.shape(windows["padding_mask"])[1]
      kept = {"window": tf.range(tf.size(windows["example_index"]))}
      for name, x in zip(self.logit_shapes, logits, strict=True):
        paddings = [[0, 0], [0, missing], *[[0, 0]] * (x.shape.rank - 2)]
        kept[name] = tf.pad(x, paddings, constant_values=NO_LOGIT)
      return {"logits": kept}

    logits = self(placed, rows, max_windows, keep)["logits"]
    del logits["window"]
    return logits

  def padded(self, length):
    """Returns the padded length of windows of this length or less."""
    most = self.sliding_windows.options.max_seq_length
    if self.sliding_windows.pad_to_max:
      return tf.constant(most)
    return tf.minimum((length // LENGTH_MULTIPLE + 1) * LENGTH_MULTIPLE, most)

  def _read_step(self, placed, rows, seq_length, read):
    windows = self.sliding_windows.tables(placed, rows, seq_length)
    names = "token_ids", "padding_mask", "segment_ids"
    inputs = [windows[name] for name in names]
    if self.options.jit_compile:
      inputs = map(_to_power_of_two, inputs)
    logits = [x[: tf.size(rows)] for x in self.encode(*inputs)]
    if not self.sliding_windows.pad_to_max:
      # The positions with logits must not depend on other windows of the step.
      is_real = tf.cast(windows["padding_mask"], tf.bool)
      for i, x in enumerate(logits):
        more_axes = [tf.newaxis] * (x.shape.rank - 2)
        logits[i] = tf.where(is_real[(..., *more_axes)], x, NO_LOGIT)
    return {
      name: {**table, "window": tf.gather(rows, table["window"])}
      for name, table in read(windows, *logits).items()
    }


def _to_power_of_two(values):
  """Repeats rows until their number is a power of two."""
  # A compiled encoder is compiled again for each number of rows.
  num_rows = tf.shape(values)[0]
  powers = tf.constant([2**i for i in range(31)])
  target = tf.reduce_min(tf.boolean_mask(powers, powers >= num_rows))
  return tf.gather(values, tf.range(target) % num_rows)


def _array_of(values):
  """Returns a TensorArray with the values as element 0."""
  array = tf.TensorArray(
    values.dtype,
    size=1,
    dynamic_size=True,
    element_shape=[None, *values.shape[1:]],
    infer_shape=False,
  )
  return array.write(0, values)
