"""What a figure was measured on."""

import importlib.metadata
import os
import platform


def describe_machine(*packages):
  """The machine and the versions, in a line each.

  Args:
    *packages: names of installed distributions, such as "tensorflow".

  Returns:
    str.
  """
  versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
  return "\n".join(
    [
      f"{_processor()}, {os.cpu_count()} cores",
      ", ".join([f"Python {platform.python_version()}", *versions]),
    ]
  )


def _processor():
  """Name of the processor, where the system tells it."""
  try:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
      for line in file:
        if line.startswith("model name"):
          return line.split(":", 1)[1].strip()
  except OSError:
    pass  # only Linux has the file
  return platform.processor() or platform.machine()
