"""Lines of output, on standard output or in a file."""

import os
import sys

from bert_span.storage.atomic_file import open_atomically


def print_lines(lines):
  """Prints an iterable of lines one by one, until the reader stops."""
  if hasattr(sys.stdout, "reconfigure"):  # A notebook's has none.
    # Lone surrogates and old terminals must not end the program.
    sys.stdout.reconfigure(errors="backslashreplace")
  try:
    for line in lines:
      print(line, flush=True)
  except BrokenPipeError:
    # `| head` stops reading. Without this Python reports an error at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_lines(path, lines):
  """Writes an iterable of lines one by one, a file whole or not at all."""
  with open_atomically(path) as file:
    for line in lines:
      file.write(f"{line}\n")
