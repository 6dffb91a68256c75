"""Runs the encoder on many windows, a few at a time, within a graph.

A passage of a million characters has over a thousand windows. All of them at
once would need gigabytes for the encoder's inner tables; so windows go through
it in steps of a few, and only their logits are kept.
"""

import tensorflow as tf

from bert_span.answers.window_logits import NO_LOGIT
from bert_span.text.windows import LENGTH_MULTIPLE


class WindowLoop:
  """Gives the windows of a batch their logits.

  Windows are sorted by length, so that each step is padded no further than
  its own windows need. With lengths 9, 40, 12 and two windows a step, the
  steps are (9, 12), padded to 32, and (40), padded to 64 WordPieces. Positions
  that are padding get the logit NO_LOGIT.

  Args:
    encode: function of input_ids, input_mask and segment_ids, int32
      [rows, seq_length], that gives a tuple of logits, each float32
      [rows, seq_length, *shape].
    logit_shapes: list of these shapes behind seq_length: [(), ()] for start
      and end logits, [(3,)] for those of three tags.
    max_windows_per_step: windows that the encoder reads at once.
    fixed_length: run the encoder on every position, padding included, and keep
      its logits there, as the original does.
    round_rows: fill a step's windows up to a power of two, at most
      max_windows_per_step, for encoders that are compiled once a shape.
  """

  def __init__(
    self,
    encode,
    logit_shapes,
    max_windows_per_step,
    fixed_length=False,
    round_rows=False,
  ):
    self._encode = encode
    self._logit_shapes = logit_shapes
    self._max_windows_per_step = max_windows_per_step
    self._fixed_length = fixed_length
    self._round_rows = round_rows

  def __call__(self, windows):
    """Scores the positions of all windows.

    Args:
      windows: dict of tensors of `SlidingWindows`.

    Returns:
      Tuple of logits, each float32 [windows, seq_length, *shape].
    """
    lengths = tf.reduce_sum(windows["input_mask"], axis=1)
    order = tf.argsort(lengths, stable=True)
    num_windows, seq_length = tf.unstack(tf.shape(windows["input_mask"]))
    per_step = self._max_windows_per_step
    num_steps = (num_windows + per_step - 1) // per_step

    def run_step(step, *written):
      rows = order[step * per_step : (step + 1) * per_step]
      longest = tf.reduce_max(tf.gather(lengths, rows))
      logits = self._logits_of(windows, rows, longest)
      pairs = zip(written, logits, strict=True)
      return step + 1, *(steps.write(step, values) for steps, values in pairs)

    _, *written = tf.while_loop(
      lambda step, *_: step < num_steps,
      run_step,
      [
        tf.constant(0),
        *(_steps(num_steps, seq_length, shape) for shape in self._logit_shapes),
      ],
      # One step's inner tables at a time: that is what bounds the memory.
      parallel_iterations=1,
    )
    place = tf.math.invert_permutation(order)
    return tuple(tf.gather(steps.concat(), place) for steps in written)

  def _logits_of(self, windows, rows, longest):
    """Tuple of logits, float32 [rows, seq_length, *shape], of some windows.

    Args:
      windows: see `__call__`.
      rows: int32 [rows], at least one.
      longest: int32 scalar, WordPieces of the longest of them.
    """
    num_rows, seq_length = tf.size(rows), tf.shape(windows["input_mask"])[1]
    if not self._fixed_length:
      seq_length = tf.minimum(_round_up(longest, LENGTH_MULTIPLE), seq_length)
    if self._round_rows:
      rows = self._filled_up(rows)
    inputs = [
      tf.gather(windows[name], rows)[:, :seq_length]
      for name in ("input_ids", "input_mask", "segment_ids")
    ]
    mask = tf.gather(windows["input_mask"], rows[:num_rows])
    return tuple(
      self._padded(logits[:num_rows], mask) for logits in self._encode(*inputs)
    )

  def _filled_up(self, rows):
    """int32 [more rows]: the first row again, up to a power of two."""
    num_rows = tf.size(rows)
    powers = tf.constant(_powers_of_two(self._max_windows_per_step))
    wanted = tf.reduce_min(tf.boolean_mask(powers, powers >= num_rows))
    return tf.concat([rows, tf.fill([wanted - num_rows], rows[0])], axis=0)

  def _padded(self, logits, mask):
    """Logits [rows, some length, *shape] to seq_length, with NO_LOGIT."""
    more_axes = logits.shape.rank - 2
    missing = tf.shape(mask)[1] - tf.shape(logits)[1]
    logits = tf.pad(
      logits,
      [[0, 0], [0, missing], *[[0, 0]] * more_axes],
      constant_values=NO_LOGIT,
    )
    if self._fixed_length:
      return logits
    # Whatever shared the step must not decide which positions there are.
    is_real = tf.cast(mask, tf.bool)[(..., *[tf.newaxis] * more_axes)]
    return tf.where(is_real, logits, NO_LOGIT)


def _steps(num_steps, seq_length, shape):
  """A TensorArray for logits of each step, float32 [rows, seq_length, *shape].

  It holds one part without rows already, as a TensorArray without any cannot
  be concatenated.
  """
  steps = tf.TensorArray(
    tf.float32,
    size=num_steps + 1,
    element_shape=[None, None, *shape],
    infer_shape=False,
  )
  return steps.write(num_steps, tf.zeros([0, seq_length, *shape]))


def _round_up(value, multiple):
  return (value + multiple - 1) // multiple * multiple


def _powers_of_two(limit):
  """1, 2, 4, .. below the limit, and the limit."""
  return [*(2**i for i in range((limit - 1).bit_length())), limit]
