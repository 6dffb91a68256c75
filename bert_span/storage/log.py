"""The log: lines on standard error."""

import sys

import tqdm


def log_line(text):
  """Writes a line to standard error without breaking a progress bar."""
  tqdm.tqdm.write(text, file=sys.stderr)
