"""What fits into a device's memory, and what makes a training fit."""

import bisect
import dataclasses

from bert_span.training.devices.memory_estimate import estimate_memory

# More windows than any device trains on at once.
_MOST_WINDOWS = 1 << 20


def largest_batch(sizes, step, memory_bytes, program_bytes=0):
  """The most windows that a device can be given in a step.

  Args:
    sizes: `ModelSizes`.
    step: `StepOptions`; its batch_size is of no account.
    memory_bytes: memory of the device.
    program_bytes: what the program takes of it.

  Returns:
    int, accumulate_steps times the windows that fit at once; 0 where not even
    one does.
  """

  def bytes_of(windows_at_once):
    batch_size = windows_at_once * step.accumulate_steps
    batch = dataclasses.replace(step, batch_size=batch_size)
    return estimate_memory(sizes, batch, program_bytes).total

  # The first number of windows whose memory exceeds the device's, less one.
  windows = range(1, _MOST_WINDOWS)
  fitting = bisect.bisect_right(windows, memory_bytes, key=bytes_of)
  return fitting * step.accumulate_steps


def ways_to_fit(sizes, step, memory_bytes, program_bytes=0):
  """Ways to make a step fit that does not, without another result.

  Accumulating costs next to no time but the memory of one more set of
  gradients; recomputing costs about a third of the time.

  Args:
    sizes: `ModelSizes`.
    step: `StepOptions`.
    memory_bytes: memory of the device.
    program_bytes: what the program takes of it.

  Returns:
    List of `StepOptions` that fit, of these: with the least accumulate_steps,
    with recompute, with both; the last one only where no other does.
  """

  def fits(way):
    total = estimate_memory(sizes, way, program_bytes).total
    return total <= memory_bytes

  def accumulating(way):
    """With the fewest parts that fit; in parts of one where none do."""
    several = dataclasses.replace(way, accumulate_steps=2)
    most = largest_batch(sizes, several, memory_bytes, program_bytes)
    windows_at_once = max(1, most // 2)
    parts = -(-way.batch_size // windows_at_once)  # rounded up
    return dataclasses.replace(way, accumulate_steps=parts)

  recomputing = dataclasses.replace(step, recompute=True)
  ways = [way for way in (accumulating(step), recomputing) if fits(way)]
  return ways or [w for w in [accumulating(recomputing)] if fits(w)]
