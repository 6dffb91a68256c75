"""The metrics of a training on their way to people."""

import contextlib
import math
import time

import numpy as np
import tensorflow as tf

from bert_span.training.run.event_file import EventFile
from bert_span.training.run.progress import TrainingProgress

_SECONDS_PER_REPORT = 1.0


class TrainingMetrics(contextlib.AbstractContextManager):
  """Checks the metrics of the steps; shows and writes them.

  Event files are written to output_dir/train. `log` takes lines of text.
  """

  def __init__(self, first_step, last_step, batch_size, output_dir, log):
    self._step = self._first_step = first_step
    self._batch_size = batch_size
    self._events = EventFile(tf.io.gfile.join(output_dir, "train"))
    self._progress = TrainingProgress(first_step, last_step, log)
    self._unread = []
    self._losses = []  # since the last event
    self._loss = math.nan
    self._num_skipped = 0
    self._last_report = time.monotonic()
    self._last_event = (self._last_report, first_step)

  def __exit__(self, *unused_exception):
    self._progress.close()
    self._events.close()

  @property
  def is_due(self):
    """Whether a second has passed since the last report."""
    return time.monotonic() - self._last_report >= _SECONDS_PER_REPORT

  def add(self, steps):
    """Adds the metrics of some steps, a list of dicts of scalars."""
    self._unread += steps

  def report(self, writes_event):
    """Checks and shows the metrics since the last report.

    Raises:
      ValueError: a loss or a norm is not finite.
    """
    for metrics in self._unread:
      self._step += 1
      latest = {name: float(value) for name, value in metrics.items()}
      is_skipped = latest.pop("skipped", None)
      if is_skipped is not None:  # There is a loss scale.
        self._num_skipped += is_skipped
        latest["skipped_steps"] = self._num_skipped
      if not is_skipped:
        _check_finite(latest, self._step)
        self._losses.append(latest["loss"])
    self._unread = []
    self._last_report = time.monotonic()
    if self._losses:
      self._loss = float(np.mean(self._losses))
    num_windows = (self._step - self._first_step) * self._batch_size
    self._progress.update(
      self._step, num_windows, self._loss, latest["learning_rate"]
    )
    if writes_event:
      seconds, step = self._last_event
      self._last_event = (self._last_report, self._step)
      windows = (self._step - step) * self._batch_size
      speed = windows / max(self._last_report - seconds, 1e-9)
      self._events.write(
        {**latest, "loss": self._loss, "examples_per_second": speed},
        self._step,
      )
      self._losses = []


def _check_finite(metrics, step):
  for name in ("loss", "global_norm"):
    if not math.isfinite(metrics[name]):
      raise ValueError(
        f"The {name} of step {step} is {metrics[name]}: the training has "
        "diverged and was stopped; nothing was saved from that step on. Lower "
        "--learning_rate or raise --warmup_proportion, and use another "
        "--output_dir."
      )
