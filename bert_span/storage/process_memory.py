"""The memory of this process."""

import os
import resource


def process_peak_bytes():
  """The most bytes of memory that this process has had."""
  # Linux' ru_maxrss has the peak of the process that started this one, too.
  if os.path.exists("/proc/self/status"):
    with open("/proc/self/status") as file:
      lines = dict(line.split(":", 1) for line in file)
    return 1024 * int(lines["VmHWM"].split()[0])
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: bytes
