"""The log: lines on standard error."""

import sys


def log_line(*lines):
  """Writes lines to standard error without breaking a progress bar."""
  import tqdm  # A sixth of the time of a program's --help.

  for line in lines:
    tqdm.tqdm.write(line, file=sys.stderr)


def progress(values, total):
  """Yields values and shows a progress bar of questions, at a terminal only."""
  import tqdm  # Here for the same reason.

  names = {"desc": "Answering", "unit": "question"}
  return tqdm.tqdm(values, total=total, leave=False, disable=None, **names)
