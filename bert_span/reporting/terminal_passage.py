"""Answers and passages for the terminal."""

import re

_ELLIPSIS = "..."
# Control characters of a file must not command the terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def marked_passage(
  context, char_start, char_end, marks=("[[", "]]"), num_characters=400
):
  """The passage with an answer marked, shortened around it if it is long.

  The passage is cut at blanks if there are any near. The answer is never cut.

    >>> marked_passage("One two three four five.", 8, 13, num_characters=15)
    '... two [[three]] four ...'

  Args:
    context: the passage.
    char_start, char_end: the answer's characters, half-open.
    marks: texts before and after the answer.
    num_characters: about how much of the passage to show.
  """
  room = max(0, num_characters - (char_end - char_start))
  # Each side gets what the other does not need.
  left = max(room // 2, room - (len(context) - char_end))
  start = max(0, char_start - left)
  if start > 0 and not context[start - 1].isspace():
    blank = re.search(r"\s", context[start:char_start])
    start += blank.end() if blank else 0
  right = max(room // 2, room - char_start)
  end = min(len(context), char_end + right)
  if end < len(context) and not context[end].isspace():
    blank = re.search(r"\s\S*$", context[char_end:end])
    end = char_end + blank.start() if blank else end
  shown = marked_spans(
    context[start:end], [(char_start - start, char_end - start)], marks
  )
  before = f"{_ELLIPSIS} " if context[:start].strip() else ""
  after = f" {_ELLIPSIS}" if context[end:].strip() else ""
  return f"{before}{shown}{after}"


def marked_spans(context, offsets, marks=("[[", "]]")):
  """The whole passage with every span of an answer marked.

    >>> marked_spans("One two three.", [(0, 3), (8, 13)])
    '[[One]] two [[three]].'

  Args:
    context: the passage.
    offsets: list of (char_start, char_end), in order, without overlaps.
    marks: texts before and after each span.
  """
  parts, reached = [], 0
  for char_start, char_end in offsets:
    parts += [
      _plain(context[reached:char_start]),
      marks[0],
      _plain(context[char_start:char_end]),
      marks[1],
    ]
    reached = char_end
  return "".join([*parts, _plain(context[reached:])]).strip()


def one_line(text):
  """A text with all white space as blanks, and without control characters."""
  return " ".join(_plain(text).split())


def _plain(text):
  return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
