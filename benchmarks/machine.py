"""The machine of a measurement."""

import importlib.metadata
import os
import platform


def describe_machine(*packages):
  """Returns two lines: the processor; versions of Python and packages."""
  processor = _processor_fields().get("model name") or platform.machine()
  versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
  return "\n".join(
    [
      f"{processor}, {os.cpu_count()} cores",
      ", ".join([f"Python {platform.python_version()}", *versions]),
    ]
  )


def vector_instructions():
  """Returns Linux' names of instructions for products of 8 bits."""
  fields = _processor_fields()
  present = fields.get("flags", fields.get("Features", "")).split()
  known = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "asimddp", "i8mm")
  return tuple(name for name in known if name in present)


def _processor_fields():
  """Dict of the first processor's fields in /proc/cpuinfo; {} without Linux."""
  fields = {}
  try:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
      for line in file:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
  except OSError:
    pass
  return fields
