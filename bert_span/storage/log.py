"""The log: lines on standard error."""

import sys

import tqdm


def log_line(*lines):
  """Writes lines to standard error without breaking a progress bar."""
  for line in lines:
    tqdm.tqdm.write(line, file=sys.stderr)
