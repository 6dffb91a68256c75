"""Loss, rate and norm of the latest steps, on their way to people."""

import math
import time

import numpy as np

# Between two readings, at most; see Readings.is_due.
SECONDS_PER_READING = 1.0


class Readings:
  """Numbers of the latest steps, from the device to the places that show them.

  They stay on the device until `read`, so that the host can run ahead.

  Args:
    first_step: steps made before.
    events: EventFile.
    progress: TrainingProgress.
  """

  def __init__(self, first_step, events, progress):
    self._step = first_step
    self._events = events
    self._progress = progress
    self._unread = []
    self._losses = []  # Since the last summary.
    self._loss = math.nan
    self._num_skipped = 0
    self._num_examples = 0
    self._last_reading = time.monotonic()
    self._last_summary = (self._last_reading, 0)

  @property
  def is_due(self):
    """Whether a second has passed since the last reading."""
    return time.monotonic() - self._last_reading >= SECONDS_PER_READING

  def add(self, numbers, num_examples):
    """Takes the numbers of one more step."""
    self._unread.append(numbers)
    self._num_examples += num_examples

  def read(self, summarizes):
    """Waits for the device, checks the numbers and shows them.

    Args:
      summarizes: write an event for TensorBoard as well.

    Raises:
      ValueError: a loss or a norm is not finite.
    """
    for numbers in self._unread:
      self._step += 1
      latest = {name: float(value) for name, value in numbers.items()}
      is_skipped = latest.pop("skipped", None)
      if is_skipped is not None:  # There is a loss scale.
        self._num_skipped += is_skipped
        latest["skipped_steps"] = self._num_skipped
      if not is_skipped:
        _check_finite(latest, self._step)
        self._losses.append(latest["loss"])
    self._unread = []
    self._last_reading = time.monotonic()
    if self._losses:
      self._loss = float(np.mean(self._losses))
    self._progress.update(
      self._step, self._num_examples, self._loss, latest["learning_rate"]
    )
    if summarizes:
      self._events.write(
        {**latest, "loss": self._loss, "examples_per_second": self._speed()},
        self._step,
      )
      self._losses = []

  def _speed(self):
    """Windows per second since the last summary."""
    seconds, examples = self._last_summary
    self._last_summary = (self._last_reading, self._num_examples)
    passed = max(self._last_reading - seconds, 1e-9)
    return (self._num_examples - examples) / passed


def _check_finite(numbers, step):
  """Stops a training that is beyond recovery.

  Args:
    numbers: dict with loss and global_norm, floats.
    step: int, the step they belong to, counted from 1.

  Raises:
    ValueError: one of them is infinite or not a number.
  """
  for name in ("loss", "global_norm"):
    if not math.isfinite(numbers[name]):
      raise ValueError(
        f"The {name} of step {step} is {numbers[name]}: the training has "
        "diverged and was stopped; nothing was saved from that step on. Lower "
        "--learning_rate or raise --warmup_proportion, and use another "
        "--output_dir."
      )
