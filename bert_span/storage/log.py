"""The log: lines on standard error."""

import sys

import tqdm


def log_line(text):
  """Writes a line to stderr without tearing a progress bar apart.

  Args:
    text: str, one line.
  """
  tqdm.tqdm.write(text, file=sys.stderr)
