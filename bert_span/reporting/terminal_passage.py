"""Answers and passages as people read them on a terminal."""

import re

_ELLIPSIS = "..."
# Control characters of a file must not command the terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def marked_passage(
  context, char_start, char_end, marks=("[[", "]]"), num_characters=400
):
  """The passage with an answer marked, shortened around it if it is long.

  It is cut at blanks where there are any near, the answer itself never:

    >>> marked_passage("One two three four five.", 8, 13, num_characters=15)
    '... two [[three]] four ...'

  Args:
    context: the passage.
    char_start: where the answer begins, in characters of the passage.
    char_end: where it ends, exclusive.
    marks: what to put before and after the answer.
    num_characters: about how much of the passage to show, in characters.

  Returns:
    str, without the white space at both ends of the part that is shown.
  """
  room = max(0, num_characters - (char_end - char_start))
  # What one side does not need is the other's.
  left = max(room // 2, room - (len(context) - char_end))
  start = _first_shown(context, max(0, char_start - left), char_start)
  right = max(room // 2, room - char_start)
  end = _last_shown(context, min(len(context), char_end + right), char_end)
  before = _plain(context[start:char_start]).lstrip()
  after = _plain(context[char_end:end]).rstrip()
  return "".join(
    (
      f"{_ELLIPSIS} " if context[:start].strip() else "",
      before,
      marks[0],
      _plain(context[char_start:char_end]),
      marks[1],
      after,
      f" {_ELLIPSIS}" if context[end:].strip() else "",
    )
  )


def marked_spans(context, offsets, marks=("[[", "]]")):
  """The whole passage with every span of an answer marked.

    >>> marked_spans("One two three.", [(0, 3), (8, 13)])
    '[[One]] two [[three]].'

  Args:
    context: the passage.
    offsets: list of (char_start, char_end), in order, none overlapping.
    marks: what to put before and after each span.

  Returns:
    str, without the white space at both ends.
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
  """A text without line breaks and control characters.

  Args:
    text: str.

  Returns:
    str; any white space is one blank.
  """
  return " ".join(_plain(text).split())


def _first_shown(context, start, answer_start):
  """The start of the first whole word from `start` on, else `start`."""
  if start == 0 or context[start - 1].isspace():
    return start
  blank = re.search(r"\s", context[start:answer_start])
  return start + blank.end() if blank else start


def _last_shown(context, end, answer_end):
  """The end of the last whole word up to `end`, else `end`."""
  if end == len(context) or context[end].isspace():
    return end
  blank = re.search(r"\s\S*$", context[answer_end:end])
  return answer_end + blank.start() if blank else end


def _plain(text):
  return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
