"""Checks the metrics of a training, shows them and writes them as curves."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tqdm

from bert_span.storage.log import log_line

_SECONDS_PER_REPORT = 1.0
# Between two lines in a log file. The first comes early: training has begun.
_SECONDS_PER_LINE = 60.0
_SECONDS_TO_FIRST_LINE = 10.0
# tf.summary.scalar does the same, but needs the package tensorboard.
_SCALAR = tf.compat.v1.SummaryMetadata(
  plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars")
)


@dataclasses.dataclass(eq=False)
class TrainingProgress(contextlib.AbstractContextManager):
  """Checks, shows and writes the metrics of the steps.

  An example is a window, as in run_squad. The speed is the mean since the first
  report, without the time of tracing.
  """

  first_step: int  # steps made by earlier calls
  last_step: int  # steps of the whole run
  batch_size: int  # windows in a batch
  output_dir: str  # event files are written to its folder train
  clock: Callable = time.monotonic  # in seconds

  def __post_init__(self):
    self._step = self.first_step
    folder = tf.io.gfile.join(self.output_dir, "train")
    self._events = tf.summary.create_file_writer(folder)
    self._unread = []
    self._losses = []  # since the last event
    self._loss = math.nan
    self._num_skipped = 0
    self._last_report = self.clock()
    self._last_event = (self._last_report, self.first_step)
    self._origin = None  # seconds and step of the first report
    self._next_line = self._last_report + _SECONDS_TO_FIRST_LINE
    self._bar = tqdm.tqdm(
      desc="Training",
      initial=self.first_step,
      total=self.last_step,
      disable=None,  # Shown if stderr is a terminal.
      dynamic_ncols=True,
      # `_show` computes the times, for the bar and for the lines.
      bar_format="{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}"
      "{postfix}",
    )

  def __exit__(self, *unused_exception):
    self._bar.close()
    self._events.close()

  @property
  def is_due(self):
    """True if a second has passed since the last report."""
    return self.clock() - self._last_report >= _SECONDS_PER_REPORT

  def add(self, steps):
    """Adds the metrics of some steps, a list of dicts of scalars."""
    self._unread += steps

  def report(self, writes_event):
    """Checks and shows the metrics since the last report."""
    for metrics in self._unread:
      self._step += 1
      latest = {name: float(value) for name, value in metrics.items()}
      if "skipped" in latest:  # There is a loss scale.
        self._num_skipped += latest["skipped"]
        latest["skipped_steps"] = self._num_skipped
        if latest.pop("skipped"):
          continue
      for name in ("loss", "global_norm"):
        if not math.isfinite(latest[name]):
          raise ValueError(
            f"The {name} of step {self._step} is {latest[name]}; from there on "
            "nothing is saved. Lower learning_rate or raise warmup_proportion, "
            "and use another output_dir."
          )
      self._losses.append(latest["loss"])
    self._unread = []
    self._last_report = self.clock()
    if self._losses:
      self._loss = float(np.mean(self._losses))
    self._show(latest["learning_rate"])
    if writes_event:
      windows, seconds = self._since(*self._last_event)
      self._last_event = (self._last_report, self._step)
      latest["loss"] = self._loss
      latest["examples_per_second"] = windows / max(seconds, 1e-9)
      write_scalars(self._events, latest, self._step)
      self._losses = []

  def _since(self, seconds, step):
    """Returns the windows and seconds from a step to the last report."""
    windows = (self._step - step) * self.batch_size
    return windows, self._last_report - seconds

  def _show(self, learning_rate):
    now, step, last_step = self._last_report, self._step, self.last_step
    metrics = f"loss {self._loss:.4f}, learning rate {learning_rate:.3g}"
    self._origin = self._origin or (now, step)
    windows, seconds = self._since(*self._origin)
    if windows and seconds > 0:
      speed = windows / seconds
      windows_left = (last_step - step) * self.batch_size
      left = tqdm.tqdm.format_interval(windows_left / speed)
      metrics += f", {speed:.1f} examples/s, {left} left"
    if not self._bar.disable:
      self._bar.n = step
      self._bar.set_postfix_str(metrics)
    elif now >= self._next_line or step == last_step:
      self._next_line = now + _SECONDS_PER_LINE
      percent = 100 * step // last_step
      log_line(f"Step {step} of {last_step} ({percent} %): {metrics}")


def write_scalars(writer, scalars, step):
  """Writes a step's values by the names of TensorBoard's curves."""
  with writer.as_default():
    for name, value in scalars.items():
      value = tf.constant(value, tf.float32)
      tf.summary.write(name, value, step=step, metadata=_SCALAR)
  writer.flush()
