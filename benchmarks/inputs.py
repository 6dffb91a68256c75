"""Inputs that several benchmarks share."""

import os

import bert_span
from bert_span.cli import program


def squad_path(path, sample="dev.json"):
  """`path`, or a file of the embedded sample if there is none."""
  folder = os.path.dirname(bert_span.__file__)
  return path or os.path.join(folder, "sample", sample)


def whole_numbers(holder):
  """The values of a list flag, whole numbers of at least 1."""
  values = [value.strip() for value in holder.value if value.strip()]
  program.check(
    all(value.isdecimal() and int(value) > 0 for value in values),
    f"--{holder.name} must list whole numbers of at least 1, separated by "
    f"commas. Received: {','.join(holder.value)}.",
  )
  return [int(value) for value in values]
