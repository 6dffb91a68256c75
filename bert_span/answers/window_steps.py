"""Runs the encoder on many windows, a few at a time, within a graph.

A passage of a million characters has over a thousand windows. All of them at
once would need gigabytes; so windows are made, scored and read by the decoder
in steps of a few, and only what the decoder keeps of them stays.
"""

import dataclasses

import tensorflow as tf

from bert_span.answers.decoding.options import StepOptions
from bert_span.answers.window_logits import NO_LOGIT, WINDOW_SPECS
from bert_span.text.windows import LENGTH_MULTIPLE

# A processor gains nothing from more at once, a GPU does.
_CPU_WORDPIECES, _GPU_WORDPIECES = 1024, 16384


def device_steps(options=None):
  """Returns `StepOptions` that hold the number of WordPieces for this device.

  Args:
    options: `StepOptions`; None takes the defaults.
  """
  options = options or StepOptions()
  if options.max_wordpieces_per_step:
    return options
  has_gpu = bool(tf.config.list_physical_devices("GPU"))
  wordpieces = _GPU_WORDPIECES if has_gpu else _CPU_WORDPIECES
  return dataclasses.replace(options, max_wordpieces_per_step=wordpieces)


class WindowSteps:
  """Reads the windows of a batch step by step.

  Windows are sorted by length, so that each step is padded no further than
  its own windows need. With lengths 9, 40, 12 and steps of 64 WordPieces, the
  steps are (40), padded to 64, and (12, 9), padded to 32. Positions that are
  padding get the logit NO_LOGIT.

  Args:
    encode: function of input_ids, input_mask and segment_ids, int32
      [windows, seq_length], that gives a tuple of logits, each float32
      [windows, seq_length, *shape].
    logit_shapes: list of these shapes behind seq_length: [(), ()] for start
      and end logits, [(3,)] for those of three tags.
    sliding_windows: `SlidingWindows`. Where it pads to max_seq_length, the
      encoder runs on every position, padding included, and its logits there
      are kept, as the original does.
    options: what `device_steps` returns.
  """

  def __init__(self, encode, logit_shapes, sliding_windows, options):
    self._encode = encode
    self._logit_shapes = logit_shapes
    self._sliding_windows = sliding_windows
    self._options = options

  def __call__(self, placed, rows, max_windows, read):
    """Reads windows.

    Args:
      placed: `PlacedWindows`.
      rows: int32 [rows], the windows to read.
      max_windows: int32 scalar, windows of a step at most.
      read: function of the windows of a step and their logits, one after the
        other, to a dict of parts, each a dict of columns of the same length;
        among them "window", int32, the row within the step that a row of the
        part is from.

    Returns:
      The parts of all windows, in the order of windows; "window" is the row
      in `placed` now.
    """
    order = tf.argsort(
      tf.gather(placed.lengths, rows), direction="DESCENDING", stable=True
    )
    rows = tf.gather(rows, order)
    lengths = tf.gather(placed.lengths, rows)
    # A TensorArray without any part could not be concatenated.
    parts = tf.nest.map_structure(_array_of, self._read_nothing(read))

    def run_step(step, first, arrays):
      seq_length = self.padded(lengths[first])
      fitting = self._options.max_wordpieces_per_step // seq_length
      end = first + tf.clip_by_value(fitting, 1, max_windows)
      found = self._read_step(placed, rows[first:end], seq_length, read)
      arrays = tf.nest.map_structure(
        lambda array, part: array.write(step, part), arrays, found
      )
      return step + 1, end, arrays

    *_, parts = tf.while_loop(
      lambda step, first, arrays: first < tf.size(rows),
      run_step,
      (tf.constant(1), tf.constant(0), parts),
      # One step's inner tables at a time: that is what bounds the memory.
      parallel_iterations=1,
    )
    parts = tf.nest.map_structure(lambda array: array.concat(), parts)
    return {name: _in_order(part) for name, part in parts.items()}

  def padded(self, length):
    """WordPieces that windows of this length or less are padded to."""
    most = self._sliding_windows.options.max_seq_length
    if self._sliding_windows.pad_to_max:
      return tf.constant(most)
    steps = (length + LENGTH_MULTIPLE - 1) // LENGTH_MULTIPLE
    return tf.minimum(steps * LENGTH_MULTIPLE, most)

  def _read_step(self, placed, rows, seq_length, read):
    windows = self._sliding_windows.tables(placed, rows, seq_length)
    inputs = [
      windows[name] for name in ("input_ids", "input_mask", "segment_ids")
    ]
    if self._options.jit_compile:
      inputs = map(_filled_up, inputs)
    logits = [x[: tf.size(rows)] for x in self._encode(*inputs)]
    if not self._sliding_windows.pad_to_max:
      # Whatever shared the step must not decide which positions there are.
      logits = [_without_padding(x, windows["input_mask"]) for x in logits]
    return {
      name: {**part, "window": tf.gather(rows, part["window"])}
      for name, part in read(windows, *logits).items()
    }

  def _read_nothing(self, read):
    """The parts of no window."""
    windows = {
      name: tf.zeros([0] * len(spec.shape), spec.dtype)
      for name, spec in WINDOW_SPECS.items()
    }
    return read(windows, *(tf.zeros([0, 0, *s]) for s in self._logit_shapes))


def _filled_up(values):
  """More rows: the first one again, up to a power of two.

  For encoders that are compiled once for each number of rows.
  """
  num_rows = tf.shape(values)[0]
  powers = tf.constant([2**i for i in range(31)])
  wanted = tf.reduce_min(tf.boolean_mask(powers, powers >= num_rows))
  return tf.concat(
    [values, tf.repeat(values[:1], wanted - num_rows, axis=0)], axis=0
  )


def _array_of(part):
  """A TensorArray that begins with a part."""
  array = tf.TensorArray(
    part.dtype,
    size=1,
    dynamic_size=True,
    element_shape=[None, *part.shape[1:]],
    infer_shape=False,
  )
  return array.write(0, part)


def _in_order(part):
  """The same columns in the order of windows."""
  order = tf.argsort(part["window"], stable=True)
  return {name: tf.gather(values, order) for name, values in part.items()}


def pad_logits(logits, missing):
  """Logits [windows, length, ..] with so many more positions of NO_LOGIT."""
  more_axes = logits.shape.rank - 2
  return tf.pad(
    logits,
    [[0, 0], [0, missing], *[[0, 0]] * more_axes],
    constant_values=NO_LOGIT,
  )


def _without_padding(logits, mask):
  """The logits with NO_LOGIT where the mask, int32 [windows, ..], is 0."""
  more_axes = logits.shape.rank - 2
  is_real = tf.cast(mask, tf.bool)[(..., *[tf.newaxis] * more_axes)]
  return tf.where(is_real, logits, NO_LOGIT)
