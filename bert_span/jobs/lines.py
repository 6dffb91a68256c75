"""Lines of output, on standard output or in a file."""

import sys

from bert_span.storage.atomic_file import open_atomically


def print_lines(lines):
  """Prints an iterable of lines one by one."""
  if hasattr(sys.stdout, "reconfigure"):  # A notebook's has none.
    # Lone surrogates and old terminals must not end the program.
    sys.stdout.reconfigure(errors="backslashreplace")
  for line in lines:
    print(line, flush=True)


def write_lines(path, lines):
  """Writes an iterable of lines one by one, a file whole or not at all."""
  with open_atomically(path) as file:
    for line in lines:
      file.write(f"{line}\n")
