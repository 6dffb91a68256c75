"""The progress of a training on a terminal or in its log."""

import sys
import time

import tqdm

from bert_span.storage.log import log_line

# Seconds between two lines in a log file, where no bar can be drawn.
_SECONDS_PER_LINE = 60.0
# The first line comes early: it shows whether the training moves.
_SECONDS_TO_FIRST_LINE = 10.0


class TrainingProgress:
  """A progress bar on a terminal, a line now and then in a log file.

  Both show loss, learning rate, examples/s (an example is a window here, as
  in run_squad) and the time left. Speed is the mean since the first step of
  this call ended, which excludes the seconds that tracing takes.

  `log` takes the lines, and `is_terminal` says whether to draw a bar; by
  default it depends on stderr.
  """

  def __init__(
    self,
    first_step,
    last_step,
    log=None,
    is_terminal=None,
    clock=time.monotonic,
  ):
    self._last_step = last_step
    self._log = log or log_line
    self._clock = clock
    self._next_line = clock() + _SECONDS_TO_FIRST_LINE
    self._origin = None
    if is_terminal is None:
      is_terminal = sys.stderr.isatty()
    self._bar = tqdm.tqdm(
      desc="Training",
      initial=first_step,
      total=last_step,
      file=sys.stderr,
      disable=not is_terminal,
      dynamic_ncols=True,
      # The times are those of `_speed`, in the bar and in the lines.
      bar_format="{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}"
      "{postfix}",
    )

  def close(self):
    """Ends the bar."""
    self._bar.close()

  def update(self, step, num_examples, loss, learning_rate):
    """Shows a step, with the windows seen since this call began."""
    now = self._clock()
    if self._origin is None:
      self._origin = (now, step, num_examples)
    metrics = (
      f"loss {loss:.4f}, learning rate {learning_rate:.3g}"
      f"{self._speed(now, step, num_examples)}"
    )
    if not self._bar.disable:
      self._bar.n = step
      self._bar.set_postfix_str(metrics)
    elif now >= self._next_line or step == self._last_step:
      self._next_line = now + _SECONDS_PER_LINE
      percent = 100 * step // self._last_step
      self._log(f"Step {step} of {self._last_step} ({percent} %): {metrics}")

  def _speed(self, now, step, num_examples):
    """Speed and time left; "" before there is anything to measure."""
    begin, first_step, first_examples = self._origin
    seconds = now - begin
    if step == first_step or seconds <= 0:
      return ""
    speed = (num_examples - first_examples) / seconds
    left = (self._last_step - step) * seconds / (step - first_step)
    left = tqdm.tqdm.format_interval(left)
    return f", {speed:.1f} examples/s, {left} left"
