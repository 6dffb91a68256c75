"""The machine of a measurement."""

import importlib.metadata
import os
import platform


def describe_machine(*packages):
  """Two lines: the processor; Python's and the packages' versions."""
  versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
  return "\n".join(
    [
      f"{_processor()}, {os.cpu_count()} cores",
      ", ".join([f"Python {platform.python_version()}", *versions]),
    ]
  )


def vector_instructions():
  """Linux' names of the processor's instructions for 8-bit products."""
  fields = _first_processor()
  present = fields.get("flags", fields.get("Features", "")).split()
  known = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "asimddp", "i8mm")
  return tuple(name for name in known if name in present)


def _processor():
  """Name of the processor."""
  name = _first_processor().get("model name")
  return name or platform.processor() or platform.machine()


def _first_processor():
  """Fields of the first processor in /proc/cpuinfo; only Linux has the file."""
  fields = {}
  try:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
      for line in file:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
  except OSError:
    pass
  return fields
