"""Passages and questions from files, pipes and terminals."""

import contextlib
import sys

from bert_span.cli.program import check
from bert_span.storage.files import read_bytes

_STDIN = "standard input"


def check_questions(holder):
  """Checks that no question of a flag is empty."""
  for question in holder.value or ():
    check(question.strip(), f"--{holder.name} is empty: write the question.")


def read_passage(context, path):
  """Returns the passage: `context`, or that of a UTF-8 file or standard input.

  Without `context`, the path - or None is standard input.
  """
  if path not in (None, "-"):
    source, context = path, _decoded(read_bytes(path), path)
  elif context is None:
    source, context = _STDIN, _decoded(sys.stdin.buffer.read(), _STDIN)
  else:
    source = "--context"
  if not context.strip():
    raise ValueError(
      f"{source}: the passage is empty, so it has no answer. Give its text."
    )
  return context


def read_questions():
  """Yields the questions typed at a terminal, or the lines of a pipe."""
  if sys.stdin.isatty():
    yield from _typed_questions()
    return
  for number, line in enumerate(sys.stdin.buffer, start=1):
    source = f"{_STDIN}, line {number}"
    question = _decoded(line, source).strip()
    if not question:
      raise ValueError(f"{source}: the question is empty. Remove the line.")
    yield question


def _typed_questions():
  with contextlib.suppress(ImportError):  # Windows does not have it.
    import readline  # noqa: F401 -- gives input() history and cursor keys

  print("Ctrl-D ends.", file=sys.stderr)
  while True:
    try:
      question = input("Question: ").strip()
    except (EOFError, KeyboardInterrupt):
      print(file=sys.stderr)
      return
    if question:
      yield question
    else:
      print("The question is empty.", file=sys.stderr)


def _decoded(content, source):
  try:
    return content.decode("utf-8-sig")  # Accepts a byte order mark.
  except UnicodeDecodeError as error:
    raise ValueError(
      f"{source}: not UTF-8: byte 0x{content[error.start]:02x} at offset "
      f"{error.start} bytes. Convert it, for instance with iconv -t UTF-8."
    ) from error
