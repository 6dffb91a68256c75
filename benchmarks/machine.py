"""The machine of a measurement."""

import importlib.metadata
import os
import platform

from bert_span.extractors.precision import processor_fields


def describe_machine(*packages):
  """Returns two lines: the processor; versions of Python and packages."""
  processor = processor_fields().get("model name") or platform.machine()
  versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
  return "\n".join(
    [
      f"{processor}, {os.cpu_count()} cores",
      ", ".join([f"Python {platform.python_version()}", *versions]),
    ]
  )


def vector_instructions():
  """Returns Linux' names of instructions for products of 8 bits."""
  fields = processor_fields()
  present = fields.get("flags", fields.get("Features", "")).split()
  known = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "asimddp", "i8mm")
  return tuple(name for name in known if name in present)
