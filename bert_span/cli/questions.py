"""Passages and questions from files, pipes and terminals."""

import contextlib
import sys

from bert_span.cli.program import check
from bert_span.search.documents import LIMIT_REMEDY
from bert_span.storage.files import decode_utf8, read_bytes

_STDIN = "standard input"


def check_questions(holder):
  """Checks that no question of a flag is empty."""
  for question in holder.value or ():
    check(question.strip(), f"--{holder.name} is empty: write the question.")


def read_passage(context, path, max_bytes):
  """Returns `context`, or the text of a file; - or None is standard input."""
  source = "--context"
  if path not in (None, "-"):
    content = read_bytes(path, max_bytes, LIMIT_REMEDY)
    source, context = path, decode_utf8(content, f"{path}:")
  elif context is None:
    source = _STDIN
    context = decode_utf8(sys.stdin.buffer.read(), f"{_STDIN}:")
  if not context.strip():
    raise ValueError(
      f"{source}: the passage is empty, so it has no answer. Give its text."
    )
  return context


def enter_questions():
  """Yields the questions typed at a terminal, or the lines of a pipe."""
  if sys.stdin.isatty():
    yield from _typed_questions()
    return
  for number, line in enumerate(sys.stdin.buffer, start=1):
    source = f"{_STDIN}, line {number}"
    question = decode_utf8(line, f"{source}:").strip()
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
