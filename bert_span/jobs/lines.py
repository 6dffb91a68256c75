"""Lines of output, on standard output or in a file."""

import os
import sys

from bert_span.storage.atomic_file import open_atomically


def print_lines(lines):
  """Prints lines as they come, until nobody reads them any more.

  Args:
    lines: iterable of str without their last newlines.
  """
  if hasattr(sys.stdout, "reconfigure"):  # A notebook's has none.
    # Lone surrogates and old terminals must not end the program.
    sys.stdout.reconfigure(errors="backslashreplace")
  try:
    for line in lines:
      print(line, flush=True)
  except BrokenPipeError:
    # `| head` has seen enough. Python would complain once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_lines(path, lines):
  """Writes a file line by line: no file is too long for the memory.

  Args:
    path: of the file, which is whole or not there.
    lines: iterable of str without their last newlines.
  """
  with open_atomically(path) as file:
    for line in lines:
      file.write(f"{line}\n")
